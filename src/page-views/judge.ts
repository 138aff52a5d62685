import { NoPages } from './no-pages.js'
import { asksForHtml, type Exchange, type Verdict, verdictOf } from './page-view.js'

/** Judges exchanges one after the other, and remembers which targets lead to no page. */
export class Judge {
  readonly #noPages = new NoPages()

  /** Tells whether a target is known to lead to no page, by the exchanges judged so far. */
  isNoPage(target: string): boolean {
    return this.#noPages.has(target)
  }

  verdictOf(exchange: Exchange, target: string): Verdict {
    const verdict = verdictOf(exchange)
    if (verdict === 'type') {
      const { status, type } = exchange
      if (status < 300 && type !== undefined && asksForHtml(exchange.headers)) {
        this.#noPages.add(target)
      }
    } else if (verdict === 'page' && !this.#noPages.isEmpty) this.#noPages.delete(target)
    return verdict
  }
}
