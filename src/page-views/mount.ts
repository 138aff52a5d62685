import type { Request } from './express.js'
import { prefixed } from './path.js'

/**
 * The address of a request as it is where a middleware is mounted. Routers rewrite these fields
 * later, and callbacks run after the response. `path`, and in Express 5 `query`, follow from `url`.
 */
export class Mount {
  readonly #url: string
  readonly #originalUrl: string
  readonly #baseUrl: string
  readonly #params: Request['params']

  /** @param publicPath the path that a proxy in front of the site removes */
  constructor({ url, originalUrl, baseUrl, params }: Request, publicPath = '') {
    this.#url = url
    this.#originalUrl = originalUrl
    this.#baseUrl = baseUrl
    this.#params = params
    if (publicPath === '') return
    this.#originalUrl = prefixed(publicPath, originalUrl ?? url)
    this.#baseUrl = publicPath + (baseUrl ?? '')
  }

  /** The target that the client has asked for. */
  get target(): string {
    return this.#originalUrl ?? this.#url
  }

  /**
   * Runs `work`, which is synchronous, while `req` has this address. Afterwards `req` has the
   * address it had before.
   */
  during<T>(req: Request, work: () => T): T {
    const before = new Mount(req)
    try {
      this.#putOn(req)
      return work()
    } finally {
      before.#putOn(req)
    }
  }

  #putOn(req: Request): void {
    // Only what differs: a framework other than Express may not have all of these fields.
    if (req.url !== this.#url) req.url = this.#url
    if (req.originalUrl !== this.#originalUrl) req.originalUrl = this.#originalUrl
    if (req.baseUrl !== this.#baseUrl) req.baseUrl = this.#baseUrl
    if (req.params !== this.#params) req.params = this.#params
  }
}
