/**
 * Module hooks for TypeScript: `./grid.js` leads to `grid.ts`, which is compiled with the esbuild
 * of tsx. The result is kept in `tmp/typescript/` under the hash of the source. So each version of
 * a file is compiled once, wherever it lies.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './compiled.js'

const require = createRequire(import.meta.url)
const ESBUILD = createRequire(require.resolve('tsx/package.json')).resolve('esbuild')
/** Part of the hash: other options or another esbuild compile anew. */
const OPTIONS = { loader: 'ts', target: 'node20', sourcemap: 'inline', sourcesContent: false }
const VERSION = JSON.stringify([OPTIONS, ESBUILD])

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  if (/^(?:\.|\/|file:).*\.js$/.test(specifier)) {
    const url = new URL(specifier.replace(/js$/, 'ts'), context.parentURL)
    const isTypeScript = !url.pathname.includes('/node_modules/') && existsSync(url)
    if (isTypeScript) return { url: url.href, format: 'module', shortCircuit: true }
  }
  return next(specifier, context)
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
  return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true }
}

/** @param {string} path */
function compiled(path) {
  const source = readFileSync(path, 'utf8')
  const name = basename(path)
  const hash = createHash('sha1').update(`${VERSION}${name}\n${source}`).digest('hex')
  const kept = new URL(`${hash}.js`, FOLDER)
  try {
    return readFileSync(kept)
  } catch {
    const { code } = require(ESBUILD).transformSync(source, { ...OPTIONS, sourcefile: name })
    // Written apart and renamed: other processes and threads may read and write the same file.
    const fresh = new URL(`${hash}.${randomUUID()}`, FOLDER)
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(fresh, code)
    renameSync(fresh, kept)
    return code
  }
}
