/** The files of the page, read once. They are served as they are: nothing is built into them. */
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
  const type = TYPES[file.slice(file.lastIndexOf('.') + 1)]
  return tagged(body, type ?? 'text/plain; charset=utf-8')
}
