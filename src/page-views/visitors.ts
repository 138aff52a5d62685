/** Whose view a request is, by the rules that the middleware and `record(req)` have in common. */
import type { BurstLogger } from '../support/logger.js'
import { Guard } from '../visitors/guard.js'
import { Addresses } from './address.js'
import type { Request } from './express.js'
import { asksForPrivacy, Bots } from './page-view.js'

export interface VisitorSettings {
  /** The site's own function that says who the visitor is, and the option it was given as. */
  readonly visitor: { readonly option: string; readonly of: (req: Request) => unknown } | undefined
  readonly bots: 'skip' | 'count'
  readonly privacySignals: 'anonymous' | 'skip' | 'ignore'
}

/** `none`: the view does not count; `anonymous`: without a visitor. */
export type Treatment = 'none' | 'anonymous' | 'with visitor'

export class Visitors {
  readonly #settings: VisitorSettings
  readonly #guard: Guard
  readonly #addresses: Addresses
  readonly #bots = new Bots()

  constructor(settings: VisitorSettings, logger: BurstLogger) {
    this.#settings = settings
    this.#guard = new Guard(logger)
    this.#addresses = new Addresses(logger, this.#guard)
  }

  treatmentOf(req: Request): Treatment {
    const { bots, privacySignals } = this.#settings
    if (bots === 'skip' && this.#bots.isBot(req)) return 'none'
    if (privacySignals === 'ignore' || !asksForPrivacy(req)) return 'with visitor'
    return privacySignals === 'skip' ? 'none' : 'anonymous'
  }

  /** Who the visitor is, not hashed yet; `undefined`: unknown. */
  identityOf(req: Request): string | undefined {
    const { visitor } = this.#settings
    if (!visitor) return this.#addresses.of(req)
    return this.#guard.identity(visitor.option, 'the visit counts without a visitor', () =>
      visitor.of(req),
    )
  }

  /** What tells visitors of one identity apart: the user agent, where they are addresses. */
  userAgentOf(req: Request, identity: string | undefined): string | undefined {
    return this.#settings.visitor || identity === undefined ? undefined : req.headers['user-agent']
  }
}
