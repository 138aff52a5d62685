// Removes the source maps of the named files, and the comments that name these maps. A browser that
// gets such a file alone would ask for its map in vain.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

for (const file of process.argv.slice(2)) {
  const url = new URL(`../${file}`, import.meta.url)
  const text = readFileSync(url, 'utf8')
  writeFileSync(url, text.replace(/^\/\/# sourceMappingURL=.*$/m, ''))
  rmSync(new URL(`${url.href}.map`))
}
