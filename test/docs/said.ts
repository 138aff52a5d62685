/**
 * The table of the codes that databases can say in `docs/errors.md`, as the code has them. The page
 * has two lines where it stands:
 *
 *     <!-- said -->
 *     <!-- /said -->
 *
 * `npm run errors` writes what is between them. What to do about a code is in its message.
 */
import type { DatabaseErrorCategory } from '../../src/database/database.js'
import { SAID as MYSQL } from '../../src/database/mysql/said.js'
import { SAID as POSTGRES } from '../../src/database/postgres/said.js'
import { NETWORK, type Said } from '../../src/database/servers/said.js'
import { SAID as SQLITE } from '../../src/database/sqlite/said.js'

/** The rows of databases, by the names that the page gives them. */
export const DATABASES: ReadonlyMap<string, readonly Said[]> = new Map([
  ['network', NETWORK],
  ['MySQL, MariaDB', MYSQL],
  ['PostgreSQL', POSTGRES],
  ['SQLite', SQLITE],
])

export const CATEGORIES: readonly DatabaseErrorCategory[] = [
  'unreachable',
  'lock',
  'capacity',
  'data',
  'usage',
]

/** A row for each server and category that has codes. */
function table(): string[] {
  const cells = [...DATABASES].flatMap(([server, rows]) =>
    CATEGORIES.map((category) => {
      const codes = rows.filter((row) => row.category === category).flatMap((row) => row.codes)
      return [server, category, codes.map((code) => `\`${code}\``).join(', ')]
    }).filter(([, , codes]) => codes !== ''),
  )
  const head = ['from', 'category', 'codes']
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`)
}

/** @throws Error if the page has no place for the table, or several */
export function render(page: string): string {
  const [before, , after, ...more] = page.split(/^(<!-- said -->$[^]*?^<!-- \/said -->)$/m)
  if (after === undefined || more.length > 0) throw new Error('the page has no place for the table')
  return [before, ['<!-- said -->', '', ...table(), '', '<!-- /said -->'].join('\n'), after].join(
    '',
  )
}
