/** Reads and checks the query of a request. An error names the parameter and what is allowed. */
import type { Calendar, Period } from '../support/calendar.js'
import {
  DEFAULT_VALUES,
  HISTORY_PERIODS,
  type HistoryPeriod,
  MAX_HOURS_OF_DAYS,
  MAX_PERIODS,
  MAX_TOP_VALUES,
  momentOf,
  rangeOf,
} from '../support/periods.js'
import { isUnder, listNames } from './lists.js'
import type { Range } from './source.js'

/** A query that is wrong: becomes an answer 400. */
export class QueryError extends Error {
  override readonly name = 'QueryError'
  readonly parameter: string
  readonly value: string | null
  readonly allowed: string

  constructor(parameter: string, value: string | null, allowed: string) {
    const short = value !== null && value.length > MAX_SHOWN ? value.slice(0, MAX_SHOWN) : value
    super(`parameter "${parameter}" is ${JSON.stringify(short)}; allowed: ${allowed}`)
    this.parameter = parameter
    this.value = short
    this.allowed = allowed
  }
}

const DEFAULT_DAYS = 30
const MAX_SHOWN = 80
const TIMES =
  'a date such as 2026-11-01, a time with its zone such as 2026-11-01T12:00:00Z, ' +
  'or milliseconds since 1970'
const MILLISECONDS = /^\d{1,15}$/
/** A date is of the site's zone. A time of day without a zone would be in that of this machine. */
const DATE_OR_ZONED = /^\d{4}-\d{2}-\d{2}$|(?:Z|[+-]\d{2}:\d{2})$/

/** Parameters that name one value of a dimension, or one item of hits. */
export const SUBJECT_PARAMETERS = ['dimension', 'hits', 'value']

/** `from`, `to` and `by`, widened to whole hours or whole days; and a value or an item. */
export function historyQuery(
  url: string,
  now: number,
  calendar: Calendar,
): { readonly range: Range & { readonly by: HistoryPeriod }; readonly query: URLSearchParams } {
  const query = parametersOf(url, ['from', 'to', 'by', ...SUBJECT_PARAMETERS])
  const by = periodOf(query.get('by'))
  const unit = by === 'hour' ? 'hour' : 'day'
  return { range: { ...timeOf(query, now, unit, MAX_PERIODS[unit], calendar), by }, query }
}

/** The name of a list with values that have a history. @throws QueryError */
export function valuesList(name: string | null, dimensions: readonly string[]): string {
  const all = listNames(dimensions)
  const known = all.find((one) => one === name)
  if (known === undefined) throw new QueryError('dimension', name, all.join(', '))
  return known
}

/** The name of a list. @throws QueryError */
export function listName(name: string | null, dimensions: readonly string[]): string {
  return name !== null && isUnder(name, dimensions) ? name : valuesList(name, dimensions)
}

/** `dimension`, `from`, `to` and `n`; the range is widened to whole hours. */
export function topQuery(
  url: string,
  now: number,
  dimensions: readonly string[],
  calendar: Calendar,
): Range & { readonly dimension: string; readonly n: number } {
  const query = parametersOf(url, ['dimension', 'from', 'to', 'n'])
  return {
    ...timeOf(query, now, 'hour', MAX_HOURS_OF_DAYS, calendar),
    dimension: listName(query.get('dimension'), dimensions),
    n: countOf(query.get('n')),
  }
}

/**
 * The parameters of a URL. Read here and not from `req.query`, which depends on the site's setting
 * "query parser".
 */
export function parametersOf(url: string, known: readonly string[]): URLSearchParams {
  const at = url.indexOf('?')
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at))
  for (const name of query.keys()) {
    const values = query.getAll(name)
    if (!known.includes(name)) {
      throw new QueryError(
        name,
        values[0] ?? '',
        `no such parameter; there are ${known.join(', ')}`,
      )
    }
    if (values.length > 1) throw new QueryError(name, values.join(', '), 'one value')
  }
  return query
}

function periodOf(value: string | null): HistoryPeriod {
  const known = HISTORY_PERIODS.find((one) => one === (value ?? 'day'))
  if (!known) throw new QueryError('by', value, HISTORY_PERIODS.join(', '))
  return known
}

/** The range that is asked for, or the last days. */
function timeOf(
  query: URLSearchParams,
  now: number,
  by: Period,
  max: number,
  calendar: Calendar,
): Range {
  const to = momentIn(query.get('to'), calendar) ?? now
  // From where it is widened to, or 30 days would be 31.
  const end = calendar.startOf(by, calendar.rangeOf(by, to, to).to)
  const from =
    momentIn(query.get('from'), calendar) ?? Math.max(0, calendar.shifted(end, -DEFAULT_DAYS))
  const range = rangeOf(
    { from, to },
    by,
    max,
    calendar,
    (end, allowed = TIMES) => new QueryError(end, query.get(end), allowed),
  )
  return { from: calendar.startOf(by, range.from), to: calendar.startOf(by, range.to) }
}

/** Returns `NaN` for what is no moment. */
function momentIn(value: string | null, calendar: Calendar): number | undefined {
  if (value === null) return undefined
  if (MILLISECONDS.test(value)) return Number(value)
  return (DATE_OR_ZONED.test(value) ? momentOf(value, calendar) : undefined) ?? NaN
}

/** `n`. @throws QueryError */
export function countOf(value: string | null): number {
  if (value === null) return DEFAULT_VALUES
  const n = /^\d{1,7}$/.test(value) ? Number(value) : 0
  if (n < 1 || n > MAX_TOP_VALUES) {
    throw new QueryError('n', value, `a whole number from 1 to ${MAX_TOP_VALUES}`)
  }
  return n
}
