/**
 * Several hosts in one URL, `mysql://user:password@a:3306,b:3307/site`, which `URL` cannot read:
 * everything else in it holds for each of them.
 */
import { integer, onlyKnown, refusedOption, refusedValue } from '../../support/options.js'

/** One of several servers that have the same database. */
export interface DatabaseHost {
  /** Name or address of the server. */
  readonly host?: string | undefined
  /** TCP port of the server. @default that of the product: 3306 (MySQL), 5432 (PostgreSQL) */
  readonly port?: number | undefined
}

/** Another host is tried when one does not answer in time, so a long list is a long wait. */
export const MAX_HOSTS = 16

/** The URL of each host that `text` names; `text` alone if it names one, or is no such URL. */
export function urlsOfHosts(text: string): string[] {
  const [, start = '', hosts = '', end = ''] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^]*)$/i.exec(text) ?? []
  return hosts.includes(',') ? hosts.split(',').map((host) => start + host + end) : [text]
}

/**
 * Checks a list of hosts. No message shows one of them: what follows a password with an `@` in it
 * is read as a host.
 *
 * @throws TypeError, RangeError
 */
export function checkedHosts(
  option: string,
  given: unknown,
  defaultPort: number,
): { host: string; port: number }[] {
  const allowed =
    `1 to ${MAX_HOSTS} different hosts, as host:port,host:port in a URL or as an array of ` +
    '{ host, port }'
  if (!Array.isArray(given)) throw refusedOption(option, 'no list', allowed)
  if (given.length === 0 || given.length > MAX_HOSTS) {
    throw refusedValue(option, `a list of ${given.length} hosts`, allowed)
  }
  const hosts = given.map((one: unknown, index) => {
    onlyKnown('a host of the database', one, ['host', 'port'])
    const { host, port = defaultPort } = one as { host?: unknown; port?: unknown }
    if (typeof host !== 'string' || host === '') {
      throw refusedValue(option, `a list whose host ${index + 1} has no name`, allowed)
    }
    return { host, port: integer(`${option}, port of host ${index + 1}`, port, 1, 65_535) }
  })
  const different = new Set(hosts.map(({ host, port }) => `${host.toLowerCase()} ${port}`))
  if (different.size < hosts.length) {
    throw refusedValue(option, 'a list that has a host twice', allowed)
  }
  return hosts
}
