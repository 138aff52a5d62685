/**
 * Reads the URL of a database server, `scheme://user:password@host:port,host:port/database?…`. No
 * message shows a value, because a URL holds the password.
 */
import { wrongValue } from '../../support/options.js'
import { urlsOfHosts } from './host-list.js'

/** Parts of a URL. */
export interface ServerUrl {
  /** At least one, each with the name and the port that the URL gives. */
  readonly hosts: readonly { host: string | undefined; port: number | undefined }[]
  readonly user: string | undefined
  readonly password: string | undefined
  /** Empty: none is named. */
  readonly database: string
  readonly parameters: URLSearchParams
}

/**
 * Names of parameters that a message may show. Any other may be a piece of a password with a `?`.
 */
const NAME = /^[\w.-]{1,40}$/

/** @throws RangeError naming `option`, with `allowed` */
export function serverUrl(
  text: string,
  option: string,
  schemes: readonly string[],
  allowed: string,
): ServerUrl {
  const urls = urlsOfHosts(text).map((one, index, all) => {
    // `new URL` puts what it was given, password and all, into its error.
    if (URL.canParse(one)) return new URL(one)
    const which = all.length > 1 ? `whose host ${index + 1} of ${all.length}` : 'that'
    throw wrongValue(option, `a URL ${which} cannot be read`, allowed)
  })
  const [url] = urls as [URL]
  if (!schemes.includes(url.protocol.slice(0, -1))) {
    throw wrongValue(option, `${url.protocol}…`, allowed)
  }
  // A password with a raw / or #, or a URL without its //, would be shown as the database.
  if (urls.some(({ pathname, hash }) => pathname.includes('@') || hash !== '')) {
    throw wrongValue(option, 'a URL that cannot be read', allowed)
  }
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part) || undefined
    } catch {
      throw wrongValue(option, 'a URL with a wrong % in it', allowed)
    }
  }
  return {
    hosts: urls.map(({ hostname, port }) => ({
      host: decoded(hostname.replace(/^\[(.*)\]$/, '$1')),
      port: port === '' ? undefined : Number(port),
    })),
    user: decoded(url.username),
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)) ?? '',
    parameters: url.searchParams,
  }
}

/**
 * Returns the parameters that `nameOf` knows by any of their spellings. `refuse` throws for those
 * that ask for another connection than would be made; the rest is named in a warning.
 */
export function acceptedParameters<Name extends string>(
  parameters: URLSearchParams,
  nameOf: (given: string) => Name | undefined,
  refuse: (given: string, shown: string) => void,
  warning: (what: string) => void,
): ReadonlyMap<Name, string> {
  const accepted = new Map<Name, string>()
  const unknown: string[] = []
  for (const [given, value] of parameters) {
    const name = nameOf(given)
    if (name !== undefined) {
      if (!accepted.has(name)) accepted.set(name, value)
      continue
    }
    const shown = NAME.test(given) ? given : '(a name with special characters)'
    refuse(given, shown)
    unknown.push(shown)
  }
  if (unknown.length > 0) {
    warning(
      `the URL has parameters that wide-cache does not know and ignores: ${unknown.join(', ')}`,
    )
  }
  return accepted
}
