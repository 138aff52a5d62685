/** The most viewed items of hits in a span, each beside its hits in the period before. */
import { DAY_MS } from '../support/clock.js'
import { MAX_VALUES } from '../support/periods.js'
import type { Read } from './figures.js'
import type { DashboardHits } from './source.js'
import { before, type Span } from './span.js'

export interface HitsList {
  readonly name: string
  readonly asOf: string
  /** `null`: they cannot be read. */
  readonly items: readonly HitsItem[] | null
  /** Hits of all items; `null`: there are more items than can be listed. */
  readonly total: number | null
}

export interface HitsItem {
  readonly item: string
  readonly hits: number
  /** Those of the days that are over, and of the same days before. Without: not known. */
  readonly over?: number
  readonly before?: number
}

/** The `n` items with the most hits. Hits are kept by the day, so that only whole days compare. */
export async function hitsList(
  one: DashboardHits,
  span: Span,
  { n, now }: { readonly n: number; readonly now: number },
  read: Read,
): Promise<HitsList> {
  const { from, to } = span
  const end = Math.max(from, Math.min(to, Math.floor(now / DAY_MS) * DAY_MS))
  const top = (range: { from: number; to: number }) =>
    range.from < range.to ? read('hits', () => one.top(MAX_VALUES, range)) : null
  const [items, over, earlier] = await Promise.all([
    top({ from, to }),
    end < to ? top({ from, to: end }) : undefined,
    top(before(span, end)),
  ])
  const [isOver, wasBefore] = [counts(over === undefined ? items : over), counts(earlier)]
  return {
    name: one.name,
    asOf: new Date(Math.min(now, to)).toISOString(),
    items:
      items &&
      items.slice(0, n).map(([item, hits]) => {
        const [later, sooner] = [isOver(item), wasBefore(item)]
        const isKnown = later !== undefined && sooner !== undefined
        return { item, hits, ...(isKnown && { over: later, before: sooner }) }
      }),
    total:
      items && items.length < MAX_VALUES ? items.reduce((sum, [, hits]) => sum + hits, 0) : null,
  }
}

/** The hits of an item; `undefined` where it may be one of those that are not listed. */
function counts(
  items: readonly (readonly [item: string, hits: number])[] | null,
): (item: string) => number | undefined {
  const listed = new Map(items)
  const rest = items && items.length < MAX_VALUES ? 0 : undefined
  return (item) => listed.get(item) ?? rest
}
