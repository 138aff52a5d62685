/** The figures of a span for the page, each beside that of the period before. */
import type { Calendar } from '../support/calendar.js'
import { MAX_TOP_VALUES } from '../support/periods.js'
import { type Compared, comparison, type Counts } from './compared.js'
import type { ValueViews } from './site-figures.js'
import { askedOf } from './lists.js'
import { known, type Since, sinceOf } from './since.js'
import type { DashboardSource, Dated, Note, Range, Read, ShownPeriod, Totals } from './source.js'
import type { Span } from './span.js'

export interface SpanFigures {
  readonly span: Span
  readonly sums: Dated<readonly ShownPeriod[]> | null
  /** The page views of the period before; `null` before the first whole day. */
  readonly before: readonly (number | null)[] | null
  /** What the page shows beside them, of the same periods. */
  readonly earlier: Earlier | null
  /** A day of the period before was imported. */
  readonly importedBefore?: true
  /** The first day with figures. */
  readonly firstDay: string | null
  /** By day, where `sums` are by hour: visitors of hours cannot be added up. */
  readonly days: readonly ShownPeriod[] | null
  /** What happened in each of its periods; empty: nothing in any. */
  readonly notes: readonly string[]
}

/** Figures of the period before, by its periods; not all may be seen, or known. */
export type Earlier = Readonly<
  Partial<Record<'visitors' | 'seen' | 'served', readonly (number | null)[]>>
>

export interface List {
  /** The name of the list. */
  readonly dimension: string
  readonly top: Dated<readonly Listed[]> | null
}

export interface Listed extends ValueViews, Compared {}

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

/** The totals of a source without what stands beside them: everybody may see those. */
export function totalsOf(source: DashboardSource): Totals {
  return {
    ...(source.firstDay && { firstDay: async () => source.firstDay!() }),
    async history(range) {
      const { figures, ...dated } = await source.history(range)
      return {
        ...dated,
        figures: figures.map(({ start, pageViews, visitors, imported }) => ({
          start,
          pageViews,
          visitors,
          ...(imported && { imported }),
        })),
      }
    },
  }
}

/** Returns how the first day of a source is read. */
export function firstDayOf(source: Totals): () => Promise<string | null> {
  return async () => (await source.firstDay?.()) ?? null
}

export async function spanFigures(
  source: Totals,
  span: Span,
  calendar: Calendar,
  read: Read,
): Promise<SpanFigures> {
  const { by, from, to, before } = span
  const [since, sums, then, days, notes] = await Promise.all([
    sinceOf(source, calendar, read),
    read('history', () => source.history({ from, to, by })),
    before && read('history', () => source.history({ ...before, by })),
    by === 'hour' ? read('history', () => source.history({ from, to, by: 'day' })) : null,
    read('notes', async () => source.notes?.({ from, to }) ?? []),
  ])
  return {
    span,
    sums: sums && upTo(to, sums),
    before: then && known(then.figures, since),
    earlier: then && earlierOf(then.figures, since),
    ...(then?.figures.some(({ imported }) => imported) && ({ importedBefore: true } as const)),
    firstDay: since.firstDay,
    days: days && days.figures,
    notes: notesIn(sums?.figures ?? [], notes ?? []),
  }
}

function earlierOf(periods: readonly ShownPeriod[], since: Since): Earlier {
  const fields = (['visitors', 'seen', 'served'] as const).filter((field) =>
    periods.some((one) => typeof one[field] === 'number'),
  )
  return Object.fromEntries(
    fields.map((field) => [
      field,
      known(
        periods.map((one) => ({ start: one.start, pageViews: one[field] ?? null })),
        since,
      ),
    ]),
  )
}

/** The notes on the days that begin in each of some periods; empty: there are none. */
export function notesIn(
  periods: readonly { readonly start: string }[],
  notes: readonly Note[],
): string[] {
  if (notes.length === 0) return []
  // Of the hours of a day, the first one has its note.
  const days = periods.map(({ start }) => start.slice(0, 10))
  return days.map((day, at) => {
    const until = days.slice(at + 1).find((other) => other !== day)
    const isLater = days[at - 1] === day
    const of = notes.filter((one) => one.day >= day && (until === undefined || one.day < until))
    return isLater ? '' : of.map(({ text }) => text).join(' · ')
  })
}

/** What is asked of a list, and when. */
export interface Asked {
  readonly n: number
  readonly now: number
  readonly calendar: Calendar
}

/** The most viewed values of a list: `n`, and after them those that have no name. */
export async function list(
  source: DashboardSource,
  span: Span,
  { dimension, n, now, calendar }: Asked & { readonly dimension: string },
  read: Read,
): Promise<List> {
  const { dimension: of, ...asked } = askedOf(dimension)
  const values = (range: Range, n: number) =>
    read('top', () => source.top(of, { ...range, ...asked, n }))
  const since = await sinceOf(source, calendar, read)
  const unit = span.daysAgo < source.historyDays ? 'hour' : 'day'
  const [top, compared] = await Promise.all([
    values({ from: span.from, to: span.to }, Math.min(MAX_TOP_VALUES, n + WITHOUT_NAME)),
    comparison<string | null>(span, { now, unit, since, calendar }, async (range) =>
      viewsIn(await values(range, MAX_TOP_VALUES), asked.under),
    ),
  ])
  if (!top) return { dimension, top }
  const figures = top.figures.map((one): Listed => ({
    ...one,
    ...compared(one.value, one.pageViews),
  }))
  const named = figures.filter(({ value }) => hasName(dimension, value))
  const others = figures.filter((one) => !named.includes(one))
  return { dimension, top: upTo(span.to, { ...top, figures: [...named.slice(0, n), ...others] }) }
}

function viewsIn(
  top: Dated<readonly ValueViews[]> | null,
  under?: string,
): Counts<string | null> | null {
  const listed = new Map(top?.figures.map(({ value, pageViews }) => [value, pageViews]))
  // Pages under a path may also be among all others.
  const isWhole = under === undefined && !listed.has(OTHER) && listed.size < MAX_TOP_VALUES
  return top && { listed, isWhole }
}

function hasName(dimension: string, value: string | null): boolean {
  if (value === null || value === OTHER) return false
  return dimension !== 'referrer' || value !== INTERNAL
}
