/** The figures of a span: what the page shows of it, each beside that of the period before. */
import { HOUR_MS } from '../support/clock.js'
import { MAX_VALUES } from '../support/periods.js'
import type { DashboardSource, Dated, Range, Ranked, Sums } from './source.js'
import { before, type Span } from './span.js'

/** Reads figures; `null` where there are none. */
export type Read = <T>(what: string, work: () => Promise<T>) => Promise<T | null>

export interface SpanFigures {
  readonly span: Span
  readonly sums: Dated<readonly Sums[]> | null
  /** The same, so much earlier. */
  readonly before: readonly Sums[] | null
  /** By UTC day, where `sums` are by hour: visitors of hours cannot be added up. */
  readonly days: readonly Sums[] | null
}

export interface List {
  readonly dimension: string
  readonly top: Dated<readonly Listed[]> | null
}

/** A value, and its page views of the hours that are over, in both periods. Without: not known. */
export interface Listed extends Ranked {
  readonly over?: number
  readonly before?: number
}

export const OTHER = '(other)'
/** Of `referrerHost()`: visits from the site's own pages. */
const INTERNAL = '(internal)'
/** Visits without a value, those from the site's own pages, and the values that are not listed. */
const WITHOUT_NAME = 3

/**
 * The figures of a range that ends at `to`. Once they are complete up to there, they are of that
 * moment, and not of each later one: so those who have them need not load them again.
 */
export function upTo<Figures>(
  to: number,
  { figures, asOf, stale }: Dated<Figures>,
): Dated<Figures> {
  if (Date.parse(asOf) < to) return { figures, asOf, stale }
  return { figures, asOf: new Date(to).toISOString(), stale: false }
}

/** The measures beside that of the figures, which any of them has. */
export function besideOf(
  figures: readonly { readonly seen?: unknown; readonly served?: unknown }[],
): readonly ('seen' | 'served')[] {
  return (['seen', 'served'] as const).filter((field) =>
    figures.some((one) => one[field] !== undefined),
  )
}

export async function spanFigures(
  source: DashboardSource,
  span: Span,
  read: Read,
): Promise<SpanFigures> {
  const { by, from, to } = span
  const [sums, earlier, days] = await Promise.all([
    read('history', () => source.history({ from, to, by })),
    read('history', () => source.history({ ...before(span), by })),
    by === 'day' ? null : read('history', () => source.history({ from, to, by: 'day' })),
  ])
  const shown = sums && upTo(to, sums)
  return { span, sums: shown, before: earlier && earlier.figures, days: days && days.figures }
}

/** The most viewed values of a dimension: `n`, and after them those that have no name. */
export async function list(
  source: DashboardSource,
  span: Span,
  { dimension, n, now }: { readonly dimension: string; readonly n: number; readonly now: number },
  read: Read,
): Promise<List> {
  const { from, to } = span
  // An hour that has begun would be compared with a whole one.
  const end = Math.max(from, Math.min(to, Math.floor(now / HOUR_MS) * HOUR_MS))
  const values = (range: Range, n = MAX_VALUES) =>
    range.from < range.to ? read('top', () => source.top(dimension, { ...range, n })) : null
  const [top, over, earlier] = await Promise.all([
    values({ from, to }, Math.min(MAX_VALUES, n + WITHOUT_NAME)),
    end < to ? values({ from, to: end }) : undefined,
    values(before(span, end)),
  ])
  if (!top) return { dimension, top }
  const [isOver, wasBefore] = [over && viewsIn(over.figures), viewsIn(earlier?.figures)]
  const figures = top.figures.map((one): Listed => {
    const sooner = wasBefore(one.value)
    const later = over === undefined ? one.pageViews : isOver?.(one.value)
    const isKnown = later !== undefined && sooner !== undefined
    return { ...one, ...(isKnown && { over: later, before: sooner }) }
  })
  const named = figures.filter(({ value }) => hasName(dimension, value))
  const others = figures.filter((one) => !named.includes(one))
  return { dimension, top: upTo(to, { ...top, figures: [...named.slice(0, n), ...others] }) }
}

/** Views of a value: one that is not listed has none, unless it may be among the others. */
function viewsIn(figures?: readonly Ranked[]): (value: string | null) => number | undefined {
  const views = new Map(figures?.map(({ value, pageViews }) => [value, pageViews]))
  const rest = figures && !views.has(OTHER) && views.size < MAX_VALUES ? 0 : undefined
  return (value) => views.get(value) ?? rest
}

function hasName(dimension: string, value: string | null): boolean {
  if (value === null || value === OTHER) return false
  return dimension !== 'referrer' || value !== INTERNAL
}
