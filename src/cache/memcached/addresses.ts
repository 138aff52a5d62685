import { wrongType, wrongValue } from '../../support/options.js'
import { withoutSecrets } from '../without-secrets.js'

/** Address of a memcached server, and the credentials for logging in there (SASL), if any. */
export interface MemcachedAddress {
  /** `host:port`, as messages and the ring know it. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly username: string | undefined
  readonly password: string | undefined
}

const ALLOWED =
  'memcached://host:port,host:port or host:port,host:port, each server once, with ' +
  'user:password@ before the first if they ask for it (percent-encoded)'
const DEFAULT_PORT = 11211
const MAX_SERVERS = 100

/** A host name, an IPv4 address or an IPv6 address in brackets; perhaps a port. */
const HOST_PORT = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::([0-9]{1,5}))?$/

/**
 * Reads a list of servers. Credentials hold for their server and for those after it without their
 * own. No message repeats them.
 *
 * @throws TypeError, RangeError
 */
export function memcachedAddresses(option: string, servers: string): MemcachedAddress[] {
  if (typeof servers !== 'string') throw wrongType(option, servers, ALLOWED)
  const refused = () => wrongValue(option, withoutSecrets(servers), ALLOWED)
  // Not a server that is called memcached, but a slash forgotten.
  if (/^memcached:\/(?!\/)/.test(servers)) throw refused()
  let username: string | undefined
  let password: string | undefined
  const addresses = new Map<string, MemcachedAddress>()
  for (const server of servers
    .replace(/^memcached:\/\//, '')
    .replace(/\/$/, '')
    .split(',')) {
    const at = server.lastIndexOf('@')
    if (at >= 0) {
      const [user = '', ...rest] = server.slice(0, at).trim().split(':')
      username = decoded(user)
      password = decoded(rest.join(':'))
      if (!username || !password) throw refused()
    }
    const [, ipv6, name, portText] =
      HOST_PORT.exec(
        server
          .slice(at + 1)
          .trim()
          .toLowerCase(),
      ) ?? []
    const host = ipv6 ?? name
    const port = Number(portText ?? DEFAULT_PORT)
    if (host === undefined || port < 1 || port > 65_535) throw refused()
    const address = {
      name: `${ipv6 === undefined ? host : `[${host}]`}:${port}`,
      host,
      port,
      username,
      password,
    }
    if (addresses.has(address.name) || addresses.size === MAX_SERVERS) throw refused()
    addresses.set(address.name, address)
  }
  return [...addresses.values()]
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
