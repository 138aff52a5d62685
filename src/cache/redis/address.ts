import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { codeOf } from '../../support/errors.js'
import { wrongType, wrongValue } from '../../support/options.js'
import type { NamedServer } from '../in-flight.js'
import { withoutSecrets } from '../without-secrets.js'

/** Address of a Redis or Valkey server, and the credentials for it, if any. */
export interface RedisAddress {
  /** `host:port` or the path of a socket, as messages know it. */
  readonly name: string
  readonly socket:
    | {
        readonly host: string
        readonly port: number
        readonly tls: boolean
        /** Name that TLS asks the server for. Node sends none unless it is told. */
        readonly servername?: string
        /** Certificates of the authorities, in PEM format. @default those that Node knows */
        readonly ca?: string
      }
    | { readonly path: string }
  readonly username: string | undefined
  readonly password: string | undefined
  /** Number of the database. */
  readonly database: number
}

/** The server in the words of messages. */
export function namedServer({ name, socket }: RedisAddress, timeoutMs: number): NamedServer {
  return { kind: 'Redis', name, timeoutMs, tls: 'tls' in socket && socket.tls }
}

/** Schemes of the URLs of Redis and Valkey. */
export const REDIS_SCHEMES: readonly string[] = ['redis', 'rediss', 'unix']

const ALLOWED =
  'redis://user:password@host:port/database, rediss://… with TLS and perhaps ?ssl-ca=file, or ' +
  'unix:///path?db=database, ' +
  'user and password percent-encoded'
const DEFAULT_PORT = 6379
const MAX_DATABASE = 2 ** 31 - 1
const NUMBER = /^[0-9]{1,10}$/
/** A host name, an IPv4 address or an IPv6 address. */
const HOST = /^[a-z0-9._-]{1,253}$|^[0-9a-f:.]{2,45}$/i

/**
 * Reads the URL of a server. No message repeats its credentials.
 *
 * @throws TypeError, RangeError
 */
export function redisAddress(option: string, text: string): RedisAddress {
  if (typeof text !== 'string') throw wrongType(option, text, ALLOWED)
  const refused = (): RangeError => wrongValue(option, withoutSecrets(text), ALLOWED)
  let url: URL
  try {
    // Of a scheme that it does not know, URL takes no credentials without a host.
    url = new URL(text.replace(/^unix:\/\/([^/@]*@)?\//, 'unix://$1socket/'))
  } catch {
    throw refused()
  }
  const isUnix = url.protocol === 'unix:'
  const database = isUnix ? (url.searchParams.get('db') ?? '') : url.pathname.slice(1)
  const tls = url.protocol === 'rediss:'
  const parameter = isUnix ? 'db' : tls ? CA : undefined
  const known = [...url.searchParams.keys()].every((key) => key === parameter)
  const isRedis = REDIS_SCHEMES.includes(url.protocol.slice(0, -1))
  if (!isRedis || !known || url.hash) throw refused()
  if (database !== '' && !(NUMBER.test(database) && Number(database) <= MAX_DATABASE)) {
    throw refused()
  }
  let path: string
  let credentials: Pick<RedisAddress, 'username' | 'password'>
  try {
    path = decodeURIComponent(url.pathname)
    credentials = {
      username: decodeURIComponent(url.username) || undefined,
      password: decodeURIComponent(url.password) || undefined,
    }
  } catch {
    throw refused()
  }
  if (isUnix) {
    if (path === '/' || url.host !== 'socket') throw refused()
    return { name: path, socket: { path }, ...credentials, database: Number(database) }
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (!HOST.test(host)) throw refused()
  const port = Number(url.port || DEFAULT_PORT)
  const ca = url.searchParams.get(CA)
  return {
    name: `${url.hostname}:${port}`,
    socket: {
      host,
      port,
      tls,
      ...(tls && isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === null ? {} : { ca: authorityIn(ca, option) }),
    },
    ...credentials,
    database: Number(database),
  }
}

/** Name of the parameter, as in the URLs of MySQL. */
const CA = 'ssl-ca'

function authorityIn(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const what = `a URL whose file ${CA} cannot be read (${codeOf(error) ?? 'unknown failure'})`
    throw wrongValue(option, what, 'the path of a file in PEM format')
  }
}
