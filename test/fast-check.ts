/** fast-check, with the seed of the commit. A failure prints the path to its example. */
import fc from 'fast-check'
import { SEED } from './commit-seed.js'

fc.configureGlobal({ seed: SEED })

export default fc
