/** The files of the page, read once. They are served without comments and indentation. */
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

/** The part of the page that only requests with full access get. */
const OPERATION = /^ *<details id="operation">[^]*?<\/details>\n/m

/** Comments that have their lines to themselves: more than a quarter of all. */
const COMMENTS = /^ *(?:\/\*[^]*?\*\/|\/\/.*)\n/gm

/** Indentation and empty lines: a tenth of the rest. No text of the page has them. */
const INDENTS = /^\s+/gm

/** The page for requests with this access. */
export function pageOf(sees: Sees): Tagged {
  const { body, type } = asset(PAGE)
  const marked = body.replace('<main id="main">', `<main id="main" data-sees="${sees}">`)
  return tagged(sees === 'allowed' ? marked : marked.replace(OPERATION, ''), type)
}

/** Files beside the page, by the path below the mount point. */
export function servedAssets(): ReadonlyMap<string, Tagged> {
  const files = readdirSync(packageFile(FOLDER)).filter((file) => /\.(?:css|js|svg)$/.test(file))
  return new Map(files.map((file): [string, Tagged] => [`/${file}`, asset(file)]))
}

/** A file beside the page. */
export function asset(file: string): Tagged {
  const body = readFileSync(packageFile(`${FOLDER}/${file}`), 'utf8')
  const sent = body.replace(COMMENTS, '').replace(INDENTS, '')
  const type = TYPES[file.slice(file.lastIndexOf('.') + 1)]
  return tagged(sent, type ?? 'text/plain; charset=utf-8')
}
