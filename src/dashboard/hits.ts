/** The most viewed items of hits in a span, each beside its hits in the period before. */
import type { Calendar } from '../support/calendar.js'
import { MAX_TOP_VALUES } from '../support/periods.js'
import { type Compared, comparison } from './compared.js'
import type { Asked } from './figures.js'
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
  { n, now, calendar }: Asked,
  read: Read,
): Promise<HitsList> {
  const top = (range: Range) =>
    read('hits', async () => {
      await refuseOtherZone(one, calendar)
      return one.top(MAX_TOP_VALUES, range)
    })
  const since = await sinceOf(one, calendar, read)
  const [items, compared] = await Promise.all([
    top({ from: span.from, to: span.to }),
    comparison<string>(span, { now, unit: 'day', since, calendar }, async (range) => {
      const items = await top(range)
      return items && { listed: new Map(items), isWhole: items.length < MAX_TOP_VALUES }
    }),
  ])
  return {
    name: one.name,
    asOf: new Date(Math.min(now, span.to)).toISOString(),
    items:
      items && items.slice(0, n).map(([item, hits]) => ({ item, hits, ...compared(item, hits) })),
    total:
      items && items.length < MAX_TOP_VALUES
        ? items.reduce((sum, [, hits]) => sum + hits, 0)
        : null,
  }
}

/** Days of two zones are not shown side by side. @throws Error */
export async function refuseOtherZone(one: DashboardHits, { zone }: Calendar): Promise<void> {
  const other = (await one.timeZone?.()) ?? zone
  if (other === zone) return
  throw new Error(
    `the days of the hits "${one.name}" are those of ${other}, and the days of the activity are ` +
      `those of ${zone}; record one of them under another name, with the other one's time zone`,
  )
}
