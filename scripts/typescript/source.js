/**
 * What the module hooks do: `./grid.js` leads to `grid.ts`, whose types are blanked out, as newer
 * versions of Node do by themselves. Lines and columns stay where they were, so errors need no
 * source map. The result is kept in `tmp/typescript/` under the hash of the source, so each version
 * of a file is compiled once, wherever it lies.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './compiled.js'

const require = createRequire(import.meta.url)

/** Returns the URL of a file in TypeScript, or `undefined` for all other modules. */
export function typescriptFile(specifier, parentURL) {
  if (!/^(?:\.|\/|file:).*\.js$/.test(specifier)) return undefined
  const url = new URL(specifier.replace(/js$/, 'ts'), parentURL)
  const isTypeScript = !url.pathname.includes('/node_modules/') && existsSync(url)
  return isTypeScript ? url.href : undefined
}

/** Returns the JavaScript of a file in TypeScript, or `undefined` for all other modules. */
export function javascriptOf(url) {
  return url.startsWith('file:') && url.endsWith('.ts') ? compiled(fileURLToPath(url)) : undefined
}

/** @param {string} path */
function compiled(path) {
  const source = readFileSync(path, 'utf8')
  const hash = createHash('sha1').update(source).digest('hex')
  const kept = new URL(`${hash}.js`, FOLDER)
  try {
    return readFileSync(kept)
  } catch {
    const code = compile(source, path)
    // Written apart and renamed: other processes and threads may read and write the same file.
    const fresh = new URL(`${hash}.${randomUUID()}`, FOLDER)
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(fresh, code)
    renameSync(fresh, kept)
    return code
  }
}

/** The compiler is loaded only where it is needed: that takes as long as all else here. */
function compile(source, path) {
  const { transformSync } = require('@swc/wasm-typescript')
  try {
    return transformSync(source, { mode: 'strip-only', filename: path }).code
  } catch ({ message, startLine }) {
    throw new SyntaxError(`${path}:${startLine}: ${message}`)
  }
}
