/**
 * The address that a view comes from, and what is wrong with it. It is `req.ip` where somebody has
 * set it: Express does so by its "trust proxy", and a recipe for another framework by that
 * framework's own rule. Else it is the socket's, but never where a proxy says that it has forwarded
 * the request: all visitors behind that proxy would count as one.
 */
import ipaddr from 'ipaddr.js'
import type { BurstLogger } from '../support/logger.js'
import type { Guard } from '../visitors/guard.js'
import { clientAddress } from './client-address.js'
import type { Received } from './handler.js'
import { peerOf } from './peer.js'

/** Headers in which a proxy says for whom it asks. */
const FORWARDING = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

/** Ranges of addresses that no visitor from the internet has. */
const INSIDE: ReadonlySet<string> = new Set([
  'carrierGradeNat',
  'linkLocal',
  'loopback',
  'private',
  'uniqueLocal',
])

/** Views after which it is no chance that all addresses are of such ranges. */
export const VIEWS_FROM_INSIDE = 100

const OR_SAY = 'or say who the visitor is with the option "visitor" ("viewer" for hits)'

export class Addresses {
  readonly #logger: BurstLogger
  readonly #guard: Guard
  #lookedAtTrust = false
  #lookedAtForwarding = false
  /** Views from inside until the log says that there were no others; 0: it is decided. */
  #leftFromInside = VIEWS_FROM_INSIDE

  constructor(logger: BurstLogger, guard: Guard) {
    this.#logger = logger
    this.#guard = guard
  }

  /** The address, in its usual form; `undefined` where it is not known. */
  of(req: Received): string | undefined {
    const said = this.#saidBy(req)
    if (said === undefined) return undefined
    const address = clientAddress(said)
    if (address === undefined) {
      this.#guard.say(
        'no IP address',
        'the address of a request (req.ip) is no IP address',
        'the visit counts without a visitor; have the proxy in front of the site send the ' +
          `client's address, ${OR_SAY}`,
      )
    } else if (this.#leftFromInside > 0) this.#lookAtRange(address)
    return address
  }

  #saidBy(req: Received): string | undefined {
    if (!this.#lookedAtTrust) this.#lookAtTrust(req)
    // Once: in Express it is computed.
    const { ip } = req
    if (!ip) return this.#ofSocket(req)
    if (
      !this.#lookedAtForwarding &&
      (req.headers['x-forwarded-for'] !== undefined || req.headers.forwarded !== undefined)
    ) {
      this.#lookAtForwarding(req, ip)
    }
    return ip
  }

  #ofSocket(req: Received): string | undefined {
    const { app, headers } = req
    const forwarding = app ? undefined : FORWARDING.find((name) => headers[name] !== undefined)
    const peer = forwarding === undefined ? peerOf(req) : undefined
    if (peer) return peer
    if (forwarding === undefined) {
      this.#guard.say(
        'no IP address',
        'a request has no IP address (a Unix socket?)',
        'the visit counts without a visitor; set "trust proxy" in Express, or say who the ' +
          'visitor is',
      )
    } else {
      this.#logger.warnOnce(
        'forwarded',
        `wide-cache: the header ${forwarding} arrives, but req.ip is not set, so visits behind ` +
          'a proxy count without a visitor; ' +
          `set req.ip to the address of the client, as docs/frameworks.md shows, ${OR_SAY}`,
      )
    }
    return undefined
  }

  /** At the first request that a proxy seems to have forwarded. */
  #lookAtForwarding(req: Received, ip: string): void {
    this.#lookedAtForwarding = true
    // A site whose own `ip` is not the connection's knows of its proxy.
    if (ip !== peerOf(req)) return
    const { app, headers } = req
    if (!app) return this.#warnOfFramework()
    const reason = app.get('trust proxy')
      ? '"trust proxy" does not name the proxy that it comes from'
      : '"trust proxy" is off'
    const set =
      'set "trust proxy" to the number of proxies in front of the site or to their ' +
      `addresses, as in app.set("trust proxy", 1), ${OR_SAY}`
    this.#logger.warnOnce(
      'forwarded',
      headers['x-forwarded-for'] !== undefined
        ? `wide-cache: X-Forwarded-For arrives, but ${reason}, so visitors behind ` +
            `a proxy who have the same user agent count as one; ${set}`
        : `wide-cache: Forwarded arrives, but ${reason}, so visitors behind a proxy ` +
            'who have the same user agent count as one; Express reads X-Forwarded-For ' +
            `only: let the proxy send that, and ${set}`,
    )
  }

  /** Where `req.ip` is set, but to the address of the connection. */
  #warnOfFramework(): void {
    this.#logger.warnOnce(
      'forwarded',
      'wide-cache: X-Forwarded-For or Forwarded arrives, but req.ip is the address of the ' +
        'connection, so visitors behind a proxy who have the same user agent count as one; let ' +
        `the framework trust the proxy, as "trustProxy" of Fastify does, ${OR_SAY}`,
    )
  }

  /** At the first views, until one comes from the internet. */
  #lookAtRange(address: string): void {
    if (!INSIDE.has(ipaddr.parse(address).range())) this.#leftFromInside = 0
    else if (--this.#leftFromInside === 0 && process.env['NODE_ENV'] === 'production') {
      this.#logger.warnOnce(
        'from inside',
        `wide-cache: the first ${VIEWS_FROM_INSIDE} views came from private or loopback ` +
          'addresses only, as of a proxy that does not send the address of the client, so ' +
          'visitors who have the same user agent count as one; have the proxy send ' +
          `X-Forwarded-For, and trust it, as docs/deployment.md shows, ${OR_SAY}; ` +
          'if all visitors are in your own network, there is nothing to do',
      )
    }
  }

  /** At the first view that counts. */
  #lookAtTrust({ app }: Received): void {
    this.#lookedAtTrust = true
    if (app?.get('trust proxy') !== true) return
    this.#logger.warnOnce(
      'trust proxy',
      'wide-cache: "trust proxy" is true, so that anyone can pass for any number of ' +
        'visitors by sending X-Forwarded-For, unless a proxy replaces it; ' +
        'set it to the number of proxies in front of the site or to their addresses, as in ' +
        'app.set("trust proxy", 1)',
    )
  }
}
