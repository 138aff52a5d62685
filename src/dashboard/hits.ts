/** The most viewed items of hits in a span, each beside its hits in the period before. */
import { MAX_VALUES } from '../support/periods.js'
import { type Compared, comparison } from './compared.js'
import { sinceOf } from './since.js'
import type { DashboardHits, Range, Read } from './source.js'
import type { Span } from './span.js'

export interface HitsList {
  readonly name: string
  readonly asOf: string
  /** `null`: they cannot be read. */
  readonly items: readonly HitsItem[] | null
  /** Hits of all items; `null`: there are more items than can be listed. */
  readonly total: number | null
}

export interface HitsItem extends Compared {
  readonly item: string
  readonly hits: number
}

/** The `n` items with the most hits. Hits are kept by the day, so that only whole days compare. */
export async function hitsList(
  one: DashboardHits,
  span: Span,
  { n, now }: { readonly n: number; readonly now: number },
  read: Read,
): Promise<HitsList> {
  const top = (range: Range) => read('hits', () => one.top(MAX_VALUES, range))
  const since = await sinceOf(one, read)
  const [items, compared] = await Promise.all([
    top({ from: span.from, to: span.to }),
    comparison<string>(span, { now, unit: 'day', since }, async (range) => {
      const items = await top(range)
      return items && { listed: new Map(items), isWhole: items.length < MAX_VALUES }
    }),
  ])
  return {
    name: one.name,
    asOf: new Date(Math.min(now, span.to)).toISOString(),
    items:
      items && items.slice(0, n).map(([item, hits]) => ({ item, hits, ...compared(item, hits) })),
    total:
      items && items.length < MAX_VALUES ? items.reduce((sum, [, hits]) => sum + hits, 0) : null,
  }
}
