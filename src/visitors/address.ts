import type { Request } from 'express'

/** Whether a prototype of requests has the `ip` of Express itself. */
const original = new WeakMap<object, boolean>()

/** In the source of Express's getter, and hardly in anyone else's. */
const EXPRESS_GETTER = /trust proxy fn/

/**
 * What `req.ip` says. To ask Express for it takes as long as all else that a visit does, most of it to read a header
 * that is not there: without `X-Forwarded-For` it is the socket's address, whoever is trusted. Where somebody has
 * given requests another `ip`, as Express's documentation shows, that one is asked.
 */
export function addressOf(req: Request): string | undefined {
  const direct = req.headers['x-forwarded-for'] === undefined && !Object.hasOwn(req, 'ip') && hasOriginal(Object.getPrototypeOf(req) as object)
  return direct ? req.socket.remoteAddress : req.ip
}

function hasOriginal(prototype: object): boolean {
  let is = original.get(prototype)
  if (is === undefined) {
    is = EXPRESS_GETTER.test(String(getterOf(prototype)))
    original.set(prototype, is)
  }
  return is
}

function getterOf(prototype: object): (() => unknown) | undefined {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    const ip = Object.getOwnPropertyDescriptor(at, 'ip')
    if (ip) return ip.get
  }
  return undefined
}
