import type { Request } from 'express'

/** The getter of `req.ip` in Express 4 and 5, word by word: what says anything else might ask for another header. */
const EXPRESS_GETTER = /^function ip\s*\(\)\s*\{\s*var trust = this\.app\.get\('trust proxy fn'\);\s*return proxyaddr\(this, trust\);\s*\}$/

/** Getters of `ip`, and whether each is Express's. */
const known = new WeakMap<() => unknown, boolean>()

/**
 * What `req.ip` says. To ask Express for it takes as long as any two other steps of a visit, most of it to read a
 * header that is not there: without `X-Forwarded-For` it is the socket's address, whoever is trusted. Where somebody
 * has given requests another `ip`, as Express's documentation shows, that one is asked.
 */
export function addressOf(req: Request): string | undefined {
  return req.headers['x-forwarded-for'] === undefined && isOriginal(getterOf(req)) ? req.socket.remoteAddress : req.ip
}

function getterOf(req: Request): (() => unknown) | undefined {
  for (let at: object | null = req; at; at = Object.getPrototypeOf(at) as object | null) {
    const ip = Object.getOwnPropertyDescriptor(at, 'ip')
    if (ip) return ip.get
  }
  return undefined
}

function isOriginal(getter: (() => unknown) | undefined): boolean {
  if (!getter) return false
  let is = known.get(getter)
  if (is === undefined) {
    is = EXPRESS_GETTER.test(String(getter))
    known.set(getter, is)
  }
  return is
}
