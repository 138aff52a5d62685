/**
 * Reads the URL of a database server, `scheme://user:password@host:port,host:port/database?…`.
 * Accepts a few parameters, refuses others that ask for another connection than would be made, and
 * names the rest in a warning. No message shows a value, because a URL holds the password.
 */
import { refusedValue } from '../../support/options.js'
import { urlsOfHosts } from './host-list.js'
import type { Parameters, ProductWords, ServerOptions, TlsOptions } from './product.js'
import { plainly, tlsOf } from './tls.js'

/**
 * Names of parameters that a message may show. Any other may be a piece of a password with a `?`.
 */
const NAME = /^[\w.-]{1,40}$/

export const CONNECTION_LIMIT = 'connection_limit'

/** What a message calls a parameter of the URL that is known as `option`. */
export function parameterOf(option: string, parameter: string): string {
  return `${option}, parameter ${parameter}`
}

/** @throws RangeError naming `option`, or the parameter whose value is wrong */
export function urlOptions<Ssl>(
  words: ProductWords<Ssl>,
  text: string,
  option: string,
  warn: (message: string) => void,
): ServerOptions<Ssl | TlsOptions> {
  const [scheme] = words.schemes
  const allowed =
    `${scheme}://user:password@host:port/database or ` +
    `${scheme}://user:password@host:port,host:port/database (special characters ` +
    `percent-encoded), with ${words.url.example} or ?connection_limit=… where wanted`
  // `URL` refuses a URL without a host, which a socket does without.
  const readable = text.replace(/^([a-z]+:\/\/(?:[^/?#]*@)?)(?=[/?:]|$)/i, '$1localhost')
  const urls = urlsOfHosts(readable).map((one, index, all) => {
    // `new URL` puts what it was given, password and all, into its error.
    if (URL.canParse(one)) return new URL(one)
    const which = all.length > 1 ? `whose host ${index + 1} of ${all.length}` : 'that'
    throw refusedValue(option, `a URL ${which} cannot be read`, allowed)
  })
  const [url] = urls as [URL]
  if (!words.schemes.includes(url.protocol.slice(0, -1))) {
    throw refusedValue(option, `"${url.protocol}…"`, allowed)
  }
  // A password with a raw / or #, or a URL without its //, would be shown as the database.
  if (urls.some(({ pathname, hash }) => pathname.includes('@') || hash !== '')) {
    throw refusedValue(option, 'a URL that cannot be read', allowed)
  }
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part) || undefined
    } catch {
      throw refusedValue(option, 'a URL with a wrong % in it', allowed)
    }
  }
  const hosts = urls.map(({ hostname, port }) => ({
    host: decoded(hostname.replace(/^\[(.*)\]$/, '$1')),
    port: port === '' ? undefined : Number(port),
  }))
  const warning = (what: string) => warn(`wide-cache: option "${option}": ${what}`)
  const parameters = acceptedParameters(words, url.searchParams, option, warning)
  const named = (parameter: string) => parameterOf(option, parameter)
  const limit = parameters.get(CONNECTION_LIMIT)
  return {
    ...(hosts.length > 1 ? { hosts } : hosts[0]),
    user: decoded(url.username),
    password: decoded(url.password),
    database: decoded(url.pathname.slice(1)) ?? '',
    ssl: tlsOf(words.tls, parameters, named, warning),
    connectionLimit: limit === undefined ? undefined : Number(limit),
    ...words.url.options(parameters, named),
  }
}

/** Returns the parameters that are accepted, in any spelling, by their names. */
function acceptedParameters(
  { url, tls }: ProductWords,
  parameters: URLSearchParams,
  option: string,
  warning: (what: string) => void,
): Parameters {
  const names = [CONNECTION_LIMIT, tls.mode, ...Object.values(tls.files), ...url.parameters]
  const accepted = new Map<string, string>()
  const unknown: string[] = []
  for (const [given, value] of parameters) {
    const name = names.find((one) => plainly(one) === plainly(given))
    if (name !== undefined) {
      if (!accepted.has(name)) accepted.set(name, value)
      continue
    }
    const shown = NAME.test(given) ? given : '(a name with special characters)'
    const [, allowed] = url.refused.find(([word]) => word.test(plainly(given))) ?? []
    if (allowed) throw refusedValue(option, `a URL with the parameter ${shown}`, allowed)
    unknown.push(shown)
  }
  if (unknown.length > 0) {
    warning(
      `the URL has parameters that wide-cache does not know and ignores: ${unknown.join(', ')}`,
    )
  }
  return accepted
}
