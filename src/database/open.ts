/** Opens the Database that a user gives as `database`: a URL, a Database, or nothing. */
import { cacheVariable, variable } from '../support/environment-variable.js'
import type { Logger } from '../support/logger.js'
import { refusedValue, wrongType, wrongValue } from '../support/options.js'
import { warnOnce } from '../support/warn-once.js'
import type { Database } from './database.js'
import { MysqlDatabase } from './mysql/mysql.js'
import { poolOptions as mysqlOptions } from './mysql/pool-options.js'
import { poolOptions as postgresOptions } from './postgres/pool-options.js'
import { PostgresDatabase } from './postgres/postgres.js'
import { sqlite } from './sqlite/sqlite.js'

const EMBEDDED_DEFAULT = 'sqlite:./wide-cache.db'
const ALLOWED =
  'mysql://user:password@host:port/database, mariadb://…, postgres://…, sqlite:./file.db, ' +
  'sqlite::memory:, or a Database'
const SCHEMES = ['mysql', 'mariadb', 'postgres', 'postgresql', 'sqlite']

/** Makes the database of a URL that has a pool of connections, or finds the one that is open. */
type OpenPool = (url: string, make: () => Database) => Database

/**
 * Opens the database; `owned` if it was made here and is to be closed here. Not given:
 * `WIDE_CACHE_DATABASE_URL`, or else `DATABASE_URL`, or else an SQLite file in the working
 * directory. A `DATABASE_URL` for another sort of database belongs to some other library: it counts
 * as not given, and `logger` is told.
 *
 * @param openPool lets callers share a pool of connections. By default each has its own.
 * @throws TypeError, RangeError naming the option and its scheme; the rest of a URL is never shown.
 */
export function openDatabase(
  given: string | Database | undefined,
  logger: Logger = console,
  env: NodeJS.ProcessEnv = process.env,
  openPool: OpenPool = (_url, make) => make(),
): { database: Database; owned: boolean } {
  const open = (option: string, url: string) => byUrl(option, url, logger, openPool)
  if (given === undefined) return { database: byEnvironment(env, logger, open), owned: true }
  if (typeof given === 'string') return { database: open('database', given), owned: true }
  if (isDatabase(given)) return { database: given, owned: false }
  throw wrongType('database', given, ALLOWED)
}

function byEnvironment(
  env: NodeJS.ProcessEnv,
  logger: Logger,
  open: (option: string, url: string) => Database,
): Database {
  const own = variable(env, 'WIDE_CACHE_DATABASE_URL')
  if (own) return open('database (environment variable WIDE_CACHE_DATABASE_URL)', own)
  const shared = variable(env, 'DATABASE_URL')
  const scheme = schemeOf(shared)
  if (scheme && SCHEMES.includes(scheme)) {
    return open('database (environment variable DATABASE_URL)', shared)
  }
  if (shared) {
    const what = scheme ? `is a ${scheme}: URL` : 'is no URL'
    warnOnce(
      logger,
      `wide-cache: DATABASE_URL ${what}, which wide-cache does not use; it stores its rows ` +
        'in ./wide-cache.db (SQLite) instead. ' +
        'Set WIDE_CACHE_DATABASE_URL, or the option "database", to ' +
        'mysql://user:password@host/database or to sqlite:./file.db',
    )
  } else if (env['NODE_ENV'] === 'production' || cacheVariable(env) !== undefined) {
    warnOnce(
      logger,
      'wide-cache: no database is named, so rows go to ./wide-cache.db (SQLite), a file of this ' +
        'machine. Set WIDE_CACHE_DATABASE_URL (or DATABASE_URL), or the option "database"',
    )
  }
  return open('database', EMBEDDED_DEFAULT)
}

function byUrl(option: string, url: string, logger: Logger, openPool: OpenPool): Database {
  const scheme = schemeOf(url)
  // Every caller's logger gets the warnings, even if another caller opens the pool.
  const warn = (message: string) => warnOnce(logger, message)
  switch (scheme) {
    case 'mysql':
    case 'mariadb':
      mysqlOptions(url, option, warn)
      return openPool(url, () => new MysqlDatabase(url, option, logger))
    case 'postgres':
    case 'postgresql':
      postgresOptions(url, option, warn)
      return openPool(url, () => new PostgresDatabase(url, option, logger))
    case 'sqlite': {
      const file = url.slice('sqlite:'.length).replace(/^\/\//, '')
      if (file === '') throw wrongValue(option, 'sqlite:', ALLOWED)
      if (file.includes('?')) {
        const allowed = 'sqlite:./file.db alone, or sqlite(path) for a file with a ? in its name'
        throw refusedValue(option, 'an sqlite: URL with parameters', allowed)
      }
      return sqlite(file)
    }
    default:
      throw refusedValue(option, scheme ? `"${scheme}:…"` : 'text without a scheme', ALLOWED)
  }
}

function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
}

function isDatabase(value: unknown): value is Database {
  if (typeof value !== 'object' || value === null) return false
  const methods = value as Record<string, unknown>
  return ['query', 'transaction', 'now', 'migrate', 'close'].every(
    (name) => typeof methods[name] === 'function',
  )
}
