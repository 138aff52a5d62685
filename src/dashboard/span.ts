/**
 * The ranges that the page offers, in whole days, and the period that each is compared with. By
 * day, that has the same weekdays: it is so many whole weeks earlier that the two do not overlap.
 */
import type { Calendar } from '../support/calendar.js'
import { dayIn, dayText, monthOf, monthsBetween, wholePeriods } from '../support/calendar-days.js'
import { type HistoryPeriod, MAX_PERIODS } from '../support/periods.js'
import { QueryError, parametersOf } from './query.js'
import type { Range } from './source.js'

/** Parameters of an address of the page. */
export type Address = Readonly<Record<string, string>>

export interface Span extends Range {
  readonly by: HistoryPeriod
  /** The period that it is compared with; `null`: none. */
  readonly before: Range | null
  /** Time zone of its days. */
  readonly zone: string
  /** Distance to the period before it, in days. */
  readonly daysAgo: number
  /** The range before it, as the page asks for it. */
  readonly earlier: Address
  /** The range after it; `null`: that has not begun. */
  readonly later: Address | null
}

/** Days, counted from 1970. */
interface Days {
  readonly from: number
  readonly to: number
}

/** Days of each range, and those between its last one and today. */
const DAYS: Readonly<Record<string, readonly [days: number, ago: number]>> = {
  today: [1, 0],
  yesterday: [1, 1],
  '7d': [7, 0],
  '30d': [30, 0],
}
/** Months of each range that ends with this month. */
const MONTHS: Readonly<Record<string, number>> = { '12m': 12, month: 1 }
const ALL = 'all'
const NAMES = [...Object.keys(DAYS), ...Object.keys(MONTHS), ALL]
const DEFAULT_RANGE = '7d'
const AGAINST = ['before', 'year', 'none']
/** Steps back that an address may ask for. */
const MAX_STEPS = 1_000
/** Longest ranges by the hour, by day, and by week. Longer ones are shown by month. */
const DAYS_BY_HOUR = 2
const DAYS_BY_DAY = 31
const DAYS_BY_WEEK = 184
const DAYS_A_WEEK = 7

/** `range` and `step`, or `from` and `to`, its first and last day; and what it is compared with. */
export const SPAN_PARAMETERS = ['range', 'step', 'from', 'to', 'against']

/** Returns the first day with figures, such as `2026-11-01`. */
export type FirstDay = () => Promise<string | null>

/** The moment of a question, and the days of the site. */
export interface When {
  readonly now: number
  readonly calendar: Calendar
  readonly firstDay: FirstDay
}

/** The span that the query of a URL asks for, and its other parameters. @throws QueryError */
export async function spanQuery(
  url: string,
  others: readonly string[],
  when: When,
): Promise<{ readonly span: Span; readonly query: URLSearchParams }> {
  const query = parametersOf(url, [...SPAN_PARAMETERS, ...others])
  return { span: await spanOf(query, when), query }
}

/** @throws QueryError */
export async function spanOf(
  query: URLSearchParams,
  { now, calendar, firstDay }: When,
): Promise<Span> {
  const today = calendar.dayOf(now)
  const against = query.get('against') ?? 'before'
  if (!AGAINST.includes(against)) throw new QueryError('against', against, AGAINST.join(', '))
  if (query.get('from') !== null || query.get('to') !== null) {
    return spanFrom(askedDays(query), { today, against, calendar })
  }
  const name = query.get('range') ?? DEFAULT_RANGE
  if (!NAMES.includes(name)) throw new QueryError('range', name, NAMES.join(', '))
  const step = stepOf(query.get('step'))
  if (name === ALL) {
    const from = dayIn((await firstDay()) ?? '') ?? today
    return spanFrom({ from, to: today + 1 }, { today, against: 'none', calendar })
  }
  return spanFrom(named(name, step, today), { today, against, calendar, name, step })
}

function stepOf(text: string | null): number {
  if (text === null) return 0
  const step = /^-\d{1,4}$/.test(text) ? Number(text) : 0
  if (step < -MAX_STEPS || step === 0) {
    throw new QueryError('step', text, `a whole number from -${MAX_STEPS} to -1`)
  }
  return step
}

function named(name: string, step: number, today: number): Days {
  const months = Object.hasOwn(MONTHS, name) ? MONTHS[name] : undefined
  if (months !== undefined) {
    const end = step * months + 1
    return { from: monthOf(today, end - months), to: monthOf(today, end) }
  }
  const [days, ago] = DAYS[name] as readonly [number, number]
  const to = today + 1 - ago + step * days
  return { from: to - days, to }
}

/** @throws QueryError */
function askedDays(query: URLSearchParams): Days {
  const [from, last] = (['from', 'to'] as const).map((end) => {
    const text = query.get(end)
    const day = text === null ? undefined : dayIn(text)
    if (day === undefined || day < 0) throw new QueryError(end, text, 'a day such as 2026-11-01')
    return day
  }) as [number, number]
  if (from > last || last - from >= MAX_PERIODS.day) {
    const allowed = `a day before "to", at most ${MAX_PERIODS.day} days`
    throw new QueryError('from', query.get('from'), allowed)
  }
  return { from, to: last + 1 }
}

interface Asked {
  readonly today: number
  readonly against: string
  readonly calendar: Calendar
  readonly name?: string
  readonly step?: number
}

function spanFrom(asked: Days, { today, against, calendar, name, step = 0 }: Asked): Span {
  const by = periodOf(asked.to - asked.from)
  const days = by === 'week' || by === 'month' ? wholePeriods(asked, by) : asked
  const moved = (by: -1 | 1) => (name === undefined ? shifted(days, by) : null)
  const isPast = days.to <= today
  const sooner = beforeOf(days, by, against)
  return {
    ...rangeOf(days, calendar),
    by,
    zone: calendar.zone,
    before: against === 'none' ? null : rangeOf(sooner, calendar),
    daysAgo: days.from - sooner.from,
    earlier: moved(-1) ?? { range: name!, step: String(step - 1) },
    later: !isPast ? null : (moved(1) ?? laterOf(name!, step)),
  }
}

/** Yesterday is followed by today. */
function laterOf(name: string, step: number): Address {
  if (step === 0) return { range: 'today' }
  return step === -1 ? { range: name } : { range: name, step: String(step + 1) }
}

function periodOf(days: number): HistoryPeriod {
  if (days <= DAYS_BY_HOUR) return 'hour'
  if (days <= DAYS_BY_DAY) return 'day'
  return days <= DAYS_BY_WEEK ? 'week' : 'month'
}

/** Days before or after others, of the same length: months, if they are whole ones. */
function shifted({ from, to }: Days, by: -1 | 1): Address {
  const months = monthsBetween(from, to)
  const areMonths = monthOf(from) === from && monthOf(to) === to
  const days = areMonths
    ? { from: monthOf(from, by * months), to: monthOf(to, by * months) }
    : { from: from + by * (to - from), to: to + by * (to - from) }
  return { from: dayText(Math.max(0, days.from)), to: dayText(Math.max(0, days.to - 1)) }
}

function beforeOf({ from, to }: Days, by: HistoryPeriod, against: string): Days {
  if (by === 'month') {
    const months = against === 'year' ? 12 : monthsBetween(from, to)
    return { from: monthOf(from, -months), to: monthOf(to, -months) }
  }
  const weeks = against === 'year' ? 52 : Math.ceil((to - from) / DAYS_A_WEEK)
  return { from: from - weeks * DAYS_A_WEEK, to: to - weeks * DAYS_A_WEEK }
}

function rangeOf({ from, to }: Days, calendar: Calendar): Range {
  return { from: calendar.startOfDay(Math.max(0, from)), to: calendar.startOfDay(Math.max(0, to)) }
}

/**
 * As much of the period before a span as there is of the span at `now`, from the day `since` on:
 * empty where the whole is earlier.
 */
export function beforeUntil(
  { from, to, before, daysAgo }: Span,
  calendar: Calendar,
  now: number,
  since: number,
): Range {
  if (!before) return { from: 0, to: 0 }
  const end = Math.min(before.to, calendar.shifted(Math.max(from, Math.min(to, now)), -daysAgo))
  return { from: Math.min(end, Math.max(since, before.from)), to: end }
}
