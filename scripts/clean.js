// Removes the named build folders, so that a deleted source leaves nothing behind in the package.
import { rmSync } from 'node:fs'

for (const folder of process.argv.slice(2)) {
  rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true })
}
