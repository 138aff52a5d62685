/**
 * What the module hooks do: `./grid.js` leads to `grid.ts`, whose types are blanked out, as newer
 * versions of Node do by themselves. Lines and columns stay where they were, so errors need no
 * source map. The result is kept in `tmp/typescript/` under the hash of the source, so each version
 * of a file is compiled once, wherever it lies.
 *
 * `./grid.js?bounds` leads to a grid with small bounds, as `test/bounds/bounds.json` has them, and
 * so does each of its imports: they are other modules than those without. `./grid.js?1` leads to
 * one more module of the same file.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './compiled.js'

const require = createRequire(import.meta.url)
const ROOT = new URL('../../', import.meta.url)
const BOUNDS = '?bounds'

/** Returns the URL of a file in TypeScript, or `undefined` for all other modules. */
export function typescriptFile(specifier, parentURL) {
  if (!/^(?:\.|\/|file:).*\.js(?:\?(?:bounds|\d+))?$/.test(specifier)) return undefined
  const url = new URL(specifier.replace(/js(?=$|\?)/, 'ts'), parentURL)
  if (parentURL?.endsWith(BOUNDS)) url.search = BOUNDS
  const isTypeScript = !url.pathname.includes('/node_modules/') && existsSync(url)
  return isTypeScript ? url.href : undefined
}

/** Returns the JavaScript of a file in TypeScript, or `undefined` for all other modules. */
export function javascriptOf(url) {
  const file = url.replace(/\?(?:bounds|\d+)$/, '')
  if (!url.startsWith('file:') || !file.endsWith('.ts')) return undefined
  const path = fileURLToPath(file)
  const source = readFileSync(path, 'utf8')
  const hasBounds = url.endsWith(BOUNDS)
  return compiled(path, hasBounds ? bounded(source, file.slice(ROOT.href.length)) : source)
}

/** A field that holds a collection. */
const FIELD = /(?<=^ +(?:readonly )?(#?\w+) = )new (?:Map|Set)\b.*\(\)$/gm

/** Gives the constants of a file their small values, and shows its collections to a test. */
function bounded(source, file) {
  const bounds = JSON.parse(readFileSync(new URL('test/bounds/bounds.json', ROOT), 'utf8'))
  const shown = (made, name) =>
    `((made) => globalThis.onCollection?.('${file} ${name}', made) ?? made)(${made})`
  const watched = file.startsWith('src/') ? source.replace(FIELD, shown) : source
  return Object.entries(bounds[file] ?? {}).reduce((text, [name, value]) => {
    const constant = new RegExp(`(?<=^(?:export )?const ${name} = )[\\d_* ]+$`, 'm')
    if (!constant.test(text)) throw new Error(`${file} has no number ${name}`)
    return text.replace(constant, value)
  }, watched)
}

/**
 * @param {string} path
 * @param {string} source
 */
function compiled(path, source) {
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
