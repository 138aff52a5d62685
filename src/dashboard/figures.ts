/** The figures of a span: what the page shows of it, each beside that of the period before. */
import { HOUR_MS } from '../support/clock.js'
import { MAX_VALUES } from '../support/periods.js'
import type { DashboardSource, Dated, Ranked, Sums } from './source.js'
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

/** A value, and its page views in the period before; without: not known. */
export interface Listed extends Ranked {
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
  const thisHour = Math.ceil(now / HOUR_MS) * HOUR_MS
  const asked = Math.min(MAX_VALUES, n + WITHOUT_NAME)
  const [top, earlier] = await Promise.all([
    read('top', () => source.top(dimension, { from, to, n: asked })),
    read('top', () => source.top(dimension, { ...before(span, thisHour), n: MAX_VALUES })),
  ])
  if (!top) return { dimension, top }
  const views = new Map(earlier?.figures.map(({ value, pageViews }) => [value, pageViews]))
  // A value that is not listed may be among the others; without others, it had no views.
  const isWhole = earlier !== null && !views.has(OTHER) && views.size < MAX_VALUES
  const figures = top.figures.map((one): Listed => {
    const known = views.get(one.value) ?? (isWhole ? 0 : undefined)
    return known === undefined ? one : { ...one, before: known }
  })
  const named = figures.filter(({ value }) => hasName(dimension, value))
  const others = figures.filter((one) => !named.includes(one))
  return { dimension, top: upTo(to, { ...top, figures: [...named.slice(0, n), ...others] }) }
}

function hasName(dimension: string, value: string | null): boolean {
  if (value === null || value === OTHER) return false
  return dimension !== 'referrer' || value !== INTERNAL
}
