/**
 * Checks the URL or the options of a database server. No message shows a URL or a password.
 */
import { given, integer, onlyKnown, refusedOption, refusedValue } from '../../support/options.js'
import { checkedHosts } from './host-list.js'
import { CONNECTIONS } from './limits.js'
import type { ProductWords, ServerOptions, TlsOptions } from './product.js'
import { CONNECTION_LIMIT, parameterOf, urlOptions } from './url.js'

/** Options of one of the servers. Those that were not given are absent. */
export interface OneServer<Ssl> {
  readonly host: string
  readonly port: number
  readonly socketPath?: string
  readonly user?: string
  readonly password?: string
  readonly database: string
  readonly ssl?: Exclude<Ssl, undefined>
  readonly connectionLimit: number
}

/**
 * Returns the options of each server.
 *
 * @param option what the user knows a URL as, for messages
 * @param warn told of parts of a URL that are ignored
 * @throws TypeError, RangeError
 */
export function checkedOptions<Ssl>(
  words: ProductWords<Ssl>,
  from: string | ServerOptions<Ssl>,
  option: string,
  warn: (message: string) => void,
): OneServer<Ssl | TlsOptions>[] {
  const {
    schemes: [scheme],
    holder,
  } = words
  const isUrl = typeof from === 'string'
  const options = isUrl ? urlOptions(words, from, option, warn) : from
  const portName = isUrl ? parameterOf(option, 'port') : 'port'
  const limitName = isUrl ? parameterOf(option, CONNECTION_LIMIT) : 'connectionLimit'
  const texts = ['host', 'user', 'password', 'database', ...words.options]
  onlyKnown(scheme, options, [...texts, 'port', 'hosts', 'ssl', 'connectionLimit'])
  for (const [name, value] of Object.entries(options)) {
    if (texts.includes(name) && value !== undefined && typeof value !== 'string') {
      throw refusedOption(name, `a ${typeof value}`, 'a string')
    }
  }
  if (!options.database) {
    throw refusedValue(
      option,
      isUrl ? `a URL without a ${holder}` : 'undefined',
      `the name of a ${holder}; as a URL: ${scheme}://user:password@host:port/database`,
    )
  }
  const { host, port, hosts, connectionLimit = CONNECTIONS, ...others } = given(options)
  if (hosts && (host !== undefined || port !== undefined || others.socketPath !== undefined)) {
    throw refusedValue(
      'hosts',
      'given beside host, port or socket',
      'hosts alone, or host and port, or a socket',
    )
  }
  const servers = hosts
    ? checkedHosts(isUrl ? option : 'hosts', hosts, words.port)
    : [{ host: host ?? 'localhost', port: integer(portName, port ?? words.port, 1, 65_535) }]
  const limit = integer(limitName, connectionLimit, 1, 1_000)
  return servers.map((server) => ({ ...others, ...server, connectionLimit: limit }))
}
