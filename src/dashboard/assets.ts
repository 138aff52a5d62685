/**
 * The files of the page, read once. Scripts, styles and the icon are in a folder that is named
 * after their content, so browsers keep them for ever.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { type Tagged, tagged } from '../page-views/answers.js'
import { packageFile } from '../support/package-file.js'

const FOLDER = 'dashboard/assets'
const PAGE = 'page.html'
/** Part that a request may see: all, all but the operation, or totals. */
export type Sees = 'allowed' | 'figures' | 'totals'

/** Content types by file ending. Files with other endings are not served. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}
const HASH_LENGTH = 10

/** The part of the page that only requests with full access get. */
const OPERATION = /^.*\bid="operation".*\n/m

/** The page for requests with this access; `lists`: how many it will have. */
export function pageOf(sees: Sees, lists: number): Tagged {
  const { body, type } = fileOfPage(PAGE)
  const marked = body.replace('id="main"', `id="main" data-sees="${sees}" data-lists="${lists}"`)
  return tagged(sees === 'allowed' ? marked : marked.replace(OPERATION, ''), type)
}

/** A page with the addresses of its files. */
export function fileOfPage(file: string): Tagged {
  const { body, type } = asset(file)
  return tagged(body.replaceAll('"assets/', `"${hash()}/`), type)
}

/** Files beside the page, by the path below the mount point. */
export function servedAssets(): ReadonlyMap<string, Tagged> {
  return new Map(files().map((file): [string, Tagged] => [`/${hash()}/${file}`, asset(file)]))
}

/** A file beside the page. */
export function asset(file: string): Tagged {
  const type = TYPES[file.slice(file.lastIndexOf('.') + 1)]
  const body = readFileSync(packageFile(`${FOLDER}/${file}`), 'utf8')
  return tagged(body, type ?? 'text/plain; charset=utf-8')
}

function files(): string[] {
  return readdirSync(packageFile(FOLDER)).filter((file) => /\.(?:css|js|svg)$/.test(file))
}

function hash(): string {
  const sum = createHash('sha256')
  for (const file of files()) sum.update(file).update(asset(file).body)
  return sum.digest('hex').slice(0, HASH_LENGTH)
}
