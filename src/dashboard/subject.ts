/** Subject of a history: one value of a dimension, or one item of hits. */
import { type LongPeriod, summedBy } from '../support/calendar-days.js'
import type { HistoryPeriod } from '../support/periods.js'
import { type Asked, upTo } from './figures.js'
import { refuseOtherZone } from './hits.js'
import { askedOf } from './lists.js'
import { QueryError, SUBJECT_PARAMETERS, valuesList } from './query.js'
import { known, sinceOf } from './since.js'
import type { ValuePeriod } from './site-figures.js'
import type { DashboardHits, DashboardSource, Dated, Read } from './source.js'
import type { Span } from './span.js'

export type Subject =
  | { readonly dimension: string; readonly value: string }
  | { readonly hits: DashboardHits; readonly value: string }

/** Characters of a value, and bytes of an item of hits. */
const MAX_VALUE = 4_096
const MAX_ITEM = 255

/** Returns the subject that a query names; `undefined`: all page views. */
export function subjectOf(
  query: URLSearchParams,
  dimensions: readonly string[],
  hits: readonly DashboardHits[],
): Subject | undefined {
  const [dimension, name, value] = SUBJECT_PARAMETERS.map((one) => query.get(one))
  if (dimension === null && name === null && value === null) return undefined
  if (!value || value.length > MAX_VALUE) {
    throw new QueryError('value', value ?? null, 'a value as top.json or hits.json has it')
  }
  if (name === null) return { dimension: valuesList(dimension ?? null, dimensions), value }
  const known = hitsNamed(name ?? null, dimension ?? null, hits)
  if (Buffer.byteLength(value) > MAX_ITEM) throw new QueryError('value', value, 'an item of hits')
  return { hits: known, value }
}

/** @throws QueryError if there are no hits of this name, or a dimension is given beside them */
export function hitsNamed(
  name: string | null,
  dimension: string | null,
  hits: readonly DashboardHits[],
): DashboardHits {
  const known = hits.find((one) => one.name === name)
  if (known && dimension === null) return known
  const names = hits.map((one) => one.name).join(', ')
  throw new QueryError('hits', name, `${names || 'no hits'}, without a dimension`)
}

/** The history of a subject in a range. Hits are as of now. */
export async function subjectHistory(
  source: DashboardSource,
  subject: Subject,
  range: Parameters<DashboardSource['history']>[0],
  { now, calendar }: Pick<Asked, 'now' | 'calendar'>,
): Promise<Dated<readonly ValuePeriod[]>> {
  if ('dimension' in subject) {
    return source.valueHistory({ ...range, ...subject, ...askedOf(subject.dimension) })
  }
  await refuseOtherZone(subject.hits, calendar)
  const { by } = range
  const long = isLong(by) ? by : undefined
  const periods = await subject.hits.history(subject.value, {
    ...range,
    by: isLong(by) ? 'day' : by,
  })
  const figures = periods.map(({ start, hits }) => ({ start, pageViews: hits }))
  return {
    figures: long ? summedBy(figures, long) : figures,
    asOf: new Date(now).toISOString(),
    stale: false,
  }
}

const isLong = (by: HistoryPeriod): by is LongPeriod => by === 'week' || by === 'month'

/** The history of a subject in a span, and in the period before. */
export async function subjectFigures(
  source: DashboardSource,
  subject: Subject,
  span: Span,
  { now, calendar }: Pick<Asked, 'now' | 'calendar'>,
  read: Read,
) {
  const { by, from, to, before } = span
  const of = (range: { from: number; to: number }) =>
    read('history', () => subjectHistory(source, subject, { ...range, by }, { now, calendar }))
  const [since, sums, earlier] = await Promise.all([
    sinceOf('hits' in subject ? subject.hits : source, calendar, read),
    of({ from, to }),
    before && of(before),
  ])
  return {
    span,
    sums: sums && upTo(to, sums),
    before: earlier && known(earlier.figures, since),
    firstDay: since.firstDay,
  }
}
