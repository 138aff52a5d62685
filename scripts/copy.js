// Copies folders of src/ that browsers get as they are: the page's modules, styles and documents.
import { cpSync } from 'node:fs'
import { basename } from 'node:path'

for (const folder of process.argv.slice(2)) {
  cpSync(
    new URL(`../src/${folder}`, import.meta.url),
    new URL(`../dist/${folder}`, import.meta.url),
    {
      recursive: true,
      filter: (source) => basename(source) !== 'tsconfig.json',
    },
  )
}
