/**
 * From what a user gives as `database` (a URL, a Database, nothing) to a Database.
 */
import { wrongType, wrongValue } from '../support/options.js'
import type { Database } from './database.js'
import { MysqlDatabase } from './mysql.js'
import { sqlite } from './sqlite.js'

const EMBEDDED_DEFAULT = 'sqlite:./wide-cache.db'
const ALLOWED = 'mysql://user:password@host:port/database, mariadb://…, sqlite:./file.db, sqlite::memory:, or a Database'

/**
 * The database; `owned` if it was made here and is to be closed here. Not given: `DATABASE_URL`, or else an
 * SQLite file in the working directory.
 *
 * @throws TypeError, RangeError naming the option and its scheme; the rest of a URL is never shown.
 */
export function openDatabase(given: string | Database | undefined, env: NodeJS.ProcessEnv = process.env): { database: Database; owned: boolean } {
  if (given === undefined) {
    const url = env['DATABASE_URL']
    return { database: url ? byUrl('database (environment variable DATABASE_URL)', url) : byUrl('database', EMBEDDED_DEFAULT), owned: true }
  }
  if (typeof given === 'string') return { database: byUrl('database', given), owned: true }
  if (isDatabase(given)) return { database: given, owned: false }
  throw wrongType('database', given, ALLOWED)
}

function byUrl(option: string, url: string): Database {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  switch (scheme) {
    case 'mysql':
    case 'mariadb':
      return new MysqlDatabase(url, option)
    case 'sqlite': {
      const file = url.slice('sqlite:'.length).replace(/^\/\//, '')
      if (file === '') throw wrongValue(option, 'sqlite:', ALLOWED)
      return sqlite(file)
    }
    default:
      throw wrongValue(option, scheme ? `${scheme}:…` : 'text without a scheme', ALLOWED)
  }
}

function isDatabase(value: unknown): value is Database {
  if (typeof value !== 'object' || value === null) return false
  const methods = value as Record<string, unknown>
  return ['query', 'transaction', 'now', 'migrate', 'close'].every((name) => typeof methods[name] === 'function')
}
