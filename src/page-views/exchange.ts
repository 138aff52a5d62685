/** What the rule of page views needs of a request of `node:http` and its response. */
import type { Request, Response } from './express.js'
import { isbot } from 'isbot'
import { Judge } from './judge.js'
import { type Exchange, isGone, type Verdict } from './page-view.js'
import { remembering } from './remembering.js'

/** Headers of a request. They are looked at once, and passed on. */
export type RequestHeaders = Request['headers']

const TYPE = /^content-type:\s*(.*)$/im
const DISPOSITION = /^content-disposition:\s*(.*)$/im

const NO_TYPES: ReadonlySet<string> = new Set()

/** Judges responses that have been sent. */
export class Exchanges {
  readonly #judge = new Judge()
  readonly #sent: Sent

  /** @param botTypes media types that count for bots, in lower case */
  constructor(bots: Bots, botTypes: ReadonlySet<string> = NO_TYPES) {
    this.#sent = new Sent(bots, this.#judge, botTypes)
  }

  /** @param target that of the request, which is a GET, before routers rewrote it */
  verdictOf(req: Request, res: Response, target: string): Verdict {
    return this.#judge.verdictOf(this.#sent.as(req, res, target), target)
  }

  /** Tells whether the response that was judged last told a person that a page is not there. */
  isGone(): boolean {
    return isGone(this.#sent)
  }
}

/**
 * A request and its response as the rule reads them. One object serves all: the request path pays
 * for each object. What Express gives the request is read as seldom as can be: each request has a
 * hidden class of its own, so each look is dear.
 */
class Sent implements Exchange {
  readonly method = 'GET'
  readonly #bots: Bots
  readonly #judge: Judge
  readonly #botTypes: ReadonlySet<string>
  #req!: Request
  #res!: Response
  #target = ''
  status = 0
  type: string | undefined
  #keepsHeaders = false

  constructor(bots: Bots, judge: Judge, botTypes: ReadonlySet<string>) {
    this.#bots = bots
    this.#judge = judge
    this.#botTypes = botTypes
  }

  as(req: Request, res: Response, target: string): this {
    this.#req = req
    this.#res = res
    this.#target = target
    this.status = res.statusCode
    const type = res.getHeader('content-type')
    this.#keepsHeaders = type !== undefined
    this.type = typeof type === 'string' ? type : this.#inHead(TYPE)
    return this
  }

  get headers(): RequestHeaders {
    return this.#req.headers
  }

  get disposition(): string | undefined {
    const disposition = this.#res.getHeader('content-disposition')
    return typeof disposition === 'string' ? disposition : this.#inHead(DISPOSITION)
  }

  /**
   * Headers are not kept where writeHead() was given all at once. Then only the head as it was sent
   * tells.
   */
  #inHead(line: RegExp): string | undefined {
    const res = this.#res
    if (this.#keepsHeaders || !('_header' in res)) return undefined
    return typeof res._header === 'string' ? line.exec(res._header)?.[1] : undefined
  }

  get isNoPage(): boolean {
    return this.#judge.isNoPage(this.#target)
  }

  get isBot(): boolean {
    return this.#bots.isBot(this.#req.headers)
  }

  get isForBots(): boolean {
    if (this.#botTypes.size === 0 || this.type === undefined) return false
    return this.#botTypes.has(this.type.split(';', 1)[0]!.trim().toLowerCase())
  }
}

/** The visitor asks not to be followed: Global Privacy Control, or Do Not Track. */
export function asksForPrivacy(headers: RequestHeaders): boolean {
  return headers['sec-gpc'] === '1' || headers['dnt'] === '1'
}

/**
 * Tells bots by their user agents, each looked at once. Browsers always have one, so an empty one
 * is a bot's.
 */
export class Bots {
  readonly #isBot = remembering(isbot)

  isBot({ 'user-agent': userAgent }: RequestHeaders): boolean {
    return !userAgent || this.#isBot(userAgent)
  }
}
