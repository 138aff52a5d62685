/**
 * Tables of all that servers can say in `docs/errors.md`, as the code has them. The page has two
 * lines where a table stands:
 *
 *     <!-- said: Redis -->
 *     <!-- /said -->
 *
 * `npm run errors` writes what is between them.
 */
import { SAID as MEMCACHED } from '../../src/cache/memcached/said.js'
import { SAID as REDIS } from '../../src/cache/redis/said.js'
import { SAID as MYSQL } from '../../src/database/mysql/said.js'
import { SAID as POSTGRES } from '../../src/database/postgres/said.js'
import { NETWORK, type Said } from '../../src/database/servers/said.js'
import { SAID as SQLITE } from '../../src/database/sqlite/said.js'

/** The rows of databases, by the names that the page gives the tables. */
export const DATABASES: ReadonlyMap<string, readonly Said[]> = new Map([
  ['network', NETWORK],
  ['MySQL', MYSQL],
  ['PostgreSQL', POSTGRES],
  ['SQLite', SQLITE],
])

const TABLES: ReadonlyMap<string, readonly string[]> = new Map([
  ['memcached', cacheTable('status', MEMCACHED)],
  ['Redis', cacheTable('reply begins with', REDIS)],
  ...[...DATABASES].map(([name, rows]) => [name, databaseTable(rows)] as const),
])

function cacheTable(
  code: string,
  rows: readonly { readonly codes: readonly string[]; readonly remedy: string }[],
): string[] {
  const cells = rows.map(({ codes, remedy }) => [listed(codes), sentence(remedy)])
  return lines([code, 'what to do'], cells)
}

function databaseTable(rows: readonly Said[]): string[] {
  const hasCauses = rows.some(({ cause }) => cause !== undefined)
  const cells = rows.map(({ codes, category, cause = '', remedy }) => [
    listed(codes),
    category,
    ...(hasCauses ? [cause] : []),
    remedy.replace('%', '…'),
  ])
  return lines(['code', 'category', ...(hasCauses ? ['cause'] : []), 'what to do'], cells)
}

function lines(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

function listed(codes: readonly string[]): string {
  return codes.map((code) => `\`${code}\``).join(', ')
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** @throws Error about a table that does not exist, or has no end */
export function render(page: string): string {
  return page.replace(
    /^(<!-- said: (\w+) -->)$[^]*?^(<!-- (?:\/said|said: \w+) -->)$/gm,
    (...found) => {
      const [, begin, name, end] = found as unknown as string[]
      const table = TABLES.get(name!)
      if (!table || end !== '<!-- /said -->') throw new Error(`"${name}": no such table, or no end`)
      return [begin, '', ...table, '', end].join('\n')
    },
  )
}
