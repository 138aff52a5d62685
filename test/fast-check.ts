/** fast-check, with the seed of the commit. A failure prints the path to its example. */
import fc from 'fast-check'
import { SEED } from './commit-seed.js'

/** Halves of surrogate pairs, which are no characters. */
const FIRST_HALF = 0xd800
const HALVES = 0x800

fc.configureGlobal({ seed: SEED })

/**
 * Any character that UTF-8 has, drawn as `fc.string({ unit: 'binary' })` does. That one first makes
 * a map of all of them, which takes a second of CPU time in each process.
 */
export const character = fc.integer({ min: 0, max: 0x10ffff - HALVES }).map(
  (index) => String.fromCodePoint(index < FIRST_HALF ? index : index + HALVES),
  (text) => {
    const [code, ...others] = Array.from(String(text), (one) => one.codePointAt(0)!)
    if (code === undefined || others.length > 0) throw new Error(`no character: ${text}`)
    return code < FIRST_HALF ? code : code - HALVES
  },
)

export default fc
