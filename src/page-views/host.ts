import type { Received } from './handler.js'

/** The host that a request asks for. */
export interface Host {
  /** In lower case; an IPv6 address in brackets. */
  readonly name: string
  /** `undefined`: nobody says one. */
  readonly port: string | undefined
}

const HOST = /^\s*(\[[^\]]*\]|[^:,\s]+)(?::(\d*))?\s*(?:,|$)/

/**
 * Returns the host that the client asks for. Express says its name where it trusts a proxy that
 * forwards it. It looks up settings for that, which takes longer than the rest. Other servers may
 * not have `req.hostname`, and HTTP/2 has no `Host`.
 */
export function hostOf(req: Received): Host | undefined {
  const { host = req.headers[':authority'], 'x-forwarded-host': forwarded } = req.headers
  const own = hostIn(host)
  const said = host === undefined || forwarded !== undefined ? req.hostname : undefined
  if (said === undefined) return own
  const name = said.toLowerCase()
  // The port beside the name that Express trusts: behind a proxy `Host` may have another one.
  return [hostIn(forwarded), own].find((one) => one?.name === name) ?? { name, port: undefined }
}

/** Reads a header. Of a list, the first host is the one that the client asked for. */
function hostIn(header: string | string[] | undefined): Host | undefined {
  const [, name, port] = (typeof header === 'string' && HOST.exec(header)) || []
  return name ? { name: name.toLowerCase(), port: port || undefined } : undefined
}
