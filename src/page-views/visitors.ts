/** Finds the visitor of a request, by rules that the middleware and `record(req)` share. */
import type { BurstLogger } from '../support/logger.js'
import { describe, Guard } from '../visitors/guard.js'
import { Addresses } from './address.js'
import type { Request } from './express.js'
import { asksForPrivacy, Bots, type RequestHeaders } from './exchange.js'

export interface VisitorSettings {
  /** The site's own function that returns the visitor, and the option it was given as. */
  readonly visitor: { readonly option: string; readonly of: (req: Request) => unknown } | undefined
  readonly privacySignals: 'anonymous' | 'skip' | 'ignore'
}

/** `none`: the view does not count; `anonymous`: without a visitor; `bot`: so, and apart. */
export type Treatment = 'none' | 'bot' | 'anonymous' | 'with visitor'

/** Counts a view of a subject. `identity` and `userAgent` are not hashed yet. */
export type Count<Subject> = (
  subject: Subject,
  identity: string | undefined,
  userAgent: string | undefined,
) => void

export class Visitors {
  readonly #settings: VisitorSettings
  readonly #guard: Guard
  readonly #addresses: Addresses
  /** Tells bots. */
  readonly bots = new Bots()

  constructor(settings: VisitorSettings, logger: BurstLogger) {
    this.#settings = settings
    this.#guard = new Guard(logger)
    this.#addresses = new Addresses(logger, this.#guard)
  }

  /**
   * Counts the view that a request tells of, of `known` if the site has said who it is. Never
   * throws: what cannot be looked at is not counted.
   */
  record(
    req: Request,
    known: string | undefined,
    count: (identity: string | undefined, userAgent: string | undefined, isBot: boolean) => void,
  ): void {
    try {
      const { headers } = req
      const treatment = this.treatmentOf(headers)
      if (treatment === 'none') return
      if (treatment !== 'with visitor') return count(undefined, undefined, treatment === 'bot')
      if (known !== undefined) return count(known, undefined, false)
      const identity = this.identityOf(req)
      count(identity, this.userAgentOf(headers, identity), false)
    } catch (error) {
      this.#guard.say(
        'middleware',
        `a request could not be read (${describe(error)})`,
        'its visit is not counted',
      )
    }
  }

  treatmentOf(headers: RequestHeaders): Treatment {
    const { privacySignals } = this.#settings
    const asks = privacySignals !== 'ignore' && asksForPrivacy(headers)
    if (asks && privacySignals === 'skip') return 'none'
    if (this.bots.isBot(headers)) return 'bot'
    return asks ? 'anonymous' : 'with visitor'
  }

  /** Identity of the visitor, not hashed yet; `undefined`: unknown. */
  identityOf(req: Request): string | undefined {
    const { visitor } = this.#settings
    if (!visitor) return this.#addresses.of(req)
    return this.#guard.identity(visitor.option, 'the visit counts without a visitor', () =>
      visitor.of(req),
    )
  }

  /** The user agent, which distinguishes visitors whose identity is one address. */
  userAgentOf(headers: RequestHeaders, identity: string | undefined): string | undefined {
    return this.#settings.visitor || identity === undefined ? undefined : headers['user-agent']
  }
}
