/** `npm run errors`: brings what servers can say into `docs/errors.md`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { render } from './said.js'

const page = new URL('../../docs/errors.md', import.meta.url)
writeFileSync(page, render(readFileSync(page, 'utf8')))
