/**
 * What a user says about a MySQL server, checked, and what we say to mysql2. No message shows a value: a URL
 * holds the password.
 */
import type { PoolOptions } from 'mysql2'
import { given, integer, onlyKnown, wrongType, wrongValue } from '../support/options.js'
import { QUEUE_LIMIT, mysqlValue } from './mysql-session.js'

export interface MysqlOptions {
  /** @default 'localhost' */
  readonly host?: string | undefined
  /** @default 3306 */
  readonly port?: number | undefined
  /** A Unix socket, instead of host and port. */
  readonly socketPath?: string | undefined
  readonly user?: string | undefined
  readonly password?: string | undefined
  /** The schema that holds the tables; it must exist. */
  readonly database: string
  /** As mysql2 takes it: `{ ca, cert, key, rejectUnauthorized, … }` or the name of a profile, `'Amazon RDS'`. */
  readonly ssl?: PoolOptions['ssl']
  /**
   * The most connections of this process.
   *
   * @default 5
   */
  readonly connectionLimit?: number | undefined
}

const KNOWN = ['host', 'port', 'socketPath', 'user', 'password', 'database', 'ssl', 'connectionLimit'] as const
const IN_URL = ['socketPath', 'ssl', 'connectionLimit']
const ALLOWED_URL = 'mysql://user:password@host:port/database (special characters percent-encoded), with ?ssl=true, ?socketPath=… or ?connectionLimit=… where wanted'
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 10_000

/** The options for mysql2's pool. */
export function poolOptions(from: string | MysqlOptions, option = 'database'): PoolOptions {
  const options = typeof from === 'string' ? fromUrl(from, option) : from
  onlyKnown('mysql', options, KNOWN)
  for (const name of ['host', 'socketPath', 'user', 'password', 'database'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'string') throw wrongType(name, hidden(options[name]), 'a string')
  }
  if (!options.database) throw wrongValue(option, typeof from === 'string' ? 'a URL without a schema' : undefined, 'the name of a schema; as a URL: mysql://user:password@host:port/database')
  const { host = 'localhost', port = 3306, connectionLimit = 5, ...others } = given(options)
  return {
    ...others,
    host,
    port: integer('port', port, 1, 65_535),
    connectionLimit: integer('connectionLimit', connectionLimit, 1, 1_000),
    queueLimit: QUEUE_LIMIT,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Else the first probe comes after two hours.
    enableKeepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    // `end()` says goodbye to the server, which counts and logs what is cut off as aborted.
    gracefulEnd: true,
    // utf8mb4 said explicitly; of two collations that meet, the binary one wins instead of failing.
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    dateStrings: true,
    jsonStrings: true,
    multipleStatements: false,
    typeCast: mysqlValue,
  }
}

function fromUrl(text: string, option: string): MysqlOptions {
  // `new URL` puts what it was given, password and all, into its error.
  if (!URL.canParse(text)) throw wrongValue(option, 'a URL that cannot be read', ALLOWED_URL)
  const url = new URL(text)
  if (url.protocol !== 'mysql:' && url.protocol !== 'mariadb:') throw wrongValue(option, `${url.protocol}…`, ALLOWED_URL)
  for (const name of url.searchParams.keys()) if (!IN_URL.includes(name)) throw wrongValue(option, `mysql://…?${name}=…`, ALLOWED_URL)
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part) || undefined
    } catch {
      throw wrongValue(option, 'a URL with a wrong % in it', ALLOWED_URL)
    }
  }
  const limit = url.searchParams.get('connectionLimit')
  return {
    host: decoded(url.hostname.replace(/^\[(.*)\]$/, '$1')),
    port: url.port === '' ? undefined : Number(url.port),
    user: decoded(url.username),
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)) ?? '',
    socketPath: url.searchParams.get('socketPath') ?? undefined,
    ssl: sslOf(url.searchParams.get('ssl')),
    connectionLimit: limit === null ? undefined : Number(limit),
  }
}

function sslOf(text: string | null): MysqlOptions['ssl'] {
  if (text === null || text === 'false') return undefined
  if (text === 'true') return {}
  if (!text.startsWith('{')) return text
  try {
    return JSON.parse(text) as NonNullable<MysqlOptions['ssl']>
  } catch {
    throw wrongValue('ssl', 'text that is no JSON', 'true, the name of a profile, or a JSON object')
  }
}

/** A value of a wrong type, unshown. */
function hidden(value: unknown): object | string {
  return typeof value === 'object' && value !== null ? {} : `a ${typeof value}`
}
