import type { Received } from './handler.js'

/** The host that a request asks for. */
export interface Host {
  /** In lower case; an IPv6 address in brackets. */
  readonly name: string
  /** `undefined`: the request does not say one, or a proxy speaks for it. */
  readonly port: string | undefined
}

const HOST = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/

/**
 * Returns the host that the client asks for. Express says it where it trusts a proxy that forwards
 * it. It looks up settings for that, which takes longer than the rest. Other servers may not have
 * `req.hostname`, and HTTP/2 has no `Host`.
 */
export function hostOf(req: Received): Host | undefined {
  const { host = req.headers[':authority'], 'x-forwarded-host': forwarded } = req.headers
  const said = host === undefined || forwarded !== undefined ? req.hostname : undefined
  const [, name, port] = typeof host === 'string' ? (HOST.exec(host) ?? []) : []
  if (said !== undefined && said.toLowerCase() !== name?.toLowerCase()) {
    return { name: said.toLowerCase(), port: undefined }
  }
  return name ? { name: name.toLowerCase(), port: port || undefined } : undefined
}
