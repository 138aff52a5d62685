/** Folder of compiled files, each under the hash of its source. */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'

export const FOLDER = new URL('../../tmp/typescript/', import.meta.url)
const KEPT_MS = 7 * 86_400_000

/** Removes what was compiled long ago. A version that is still in use is compiled again. */
export function removeOld() {
  mkdirSync(FOLDER, { recursive: true })
  for (const name of readdirSync(FOLDER)) {
    const file = new URL(name, FOLDER)
    if (Date.now() - statSync(file).mtimeMs > KEPT_MS) rmSync(file, { force: true })
  }
}
