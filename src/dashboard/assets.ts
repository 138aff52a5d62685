/** The files of the page, read once. They are served as they are, but for comments. */
import { readdirSync, readFileSync } from 'node:fs'
import { type Tagged, tagged } from '../page-views/answers.js'
import { packageFile } from '../support/package-file.js'

const FOLDER = 'dashboard/assets'
const PAGE = 'page.html'

/** Content types by file ending. Files with other endings are not served. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Comments that have their lines to themselves: more than a quarter of all. */
const COMMENTS = /^ *\/\*[^]*?\*\/\n/gm

/** Files of the page, by the path below the mount point. */
export function servedAssets(): ReadonlyMap<string, Tagged> {
  const files = readdirSync(packageFile(FOLDER)).filter((file) => /\.(?:css|js|svg)$/.test(file))
  return new Map([
    ['/', asset(PAGE)],
    ...files.map((file): [string, Tagged] => [`/${file}`, asset(file)]),
  ])
}

/** A file beside the page. */
export function asset(file: string): Tagged {
  const body = readFileSync(packageFile(`${FOLDER}/${file}`), 'utf8')
  const sent = body.replace(COMMENTS, '')
  const type = TYPES[file.slice(file.lastIndexOf('.') + 1)]
  return tagged(sent, type ?? 'text/plain; charset=utf-8')
}
