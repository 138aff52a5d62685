// Removes from dist/ the declarations that no entry of the package leads to: nobody can import
// them, and they are a third of its files.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DIST = join(ROOT, 'dist')
const SUFFIX = '.d.ts'
/** What a declaration names: `from './a.js'`, `import('./a.js')`, `import './a.js'`. */
const RELATIVE = /(?:from|import)[\s(]*['"](\.{1,2}\/[^'"]+)\.js['"]/g

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const waiting = Object.values(exports).flatMap(({ types }) => (types ? [resolve(ROOT, types)] : []))
const reached = new Set()
for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
  if (reached.has(file)) continue
  reached.add(file)
  for (const [, path] of readFileSync(file, 'utf8').matchAll(RELATIVE)) {
    waiting.push(resolve(dirname(file), path + SUFFIX))
  }
}
for (const path of readdirSync(DIST, { recursive: true })) {
  const file = join(DIST, path)
  if (file.endsWith(SUFFIX) && !reached.has(file)) rmSync(file)
}
