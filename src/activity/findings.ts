/**
 * What a certificate compares: a table of what there is, what ought to be, and the sentence that
 * reports a difference.
 */
import type { SqlRow } from '../database/database.js'
import type { Calendar } from '../support/calendar.js'
import { counted } from '../support/printable.js'
import { type Balance, whyUnbalanced } from './balance.js'
import { PAGE } from './sums.js'

type Comparison = readonly [found: unknown, expected: unknown, sentence: string]

/** What is compared of a day, counted from 1970. */
export interface ComparedDay {
  readonly day: number
  readonly calendar: Calendar
  /** The sums of the day, and the figures of its closing, of one moment. */
  readonly row: SqlRow
  /** `undefined`: the day has none of its own. */
  readonly balance: Balance | undefined
  /** Its rows of `activity_hours`. */
  readonly hours: readonly SqlRow[]
  /** Its values, by their dimensions. `undefined`: nothing is compared with the closing. */
  readonly values: ReadonlyMap<string, SqlRow> | undefined
}

/** The figures of an hour or a day: page views, late ones, visitors. */
type Figures = readonly [views: number, late: number, visitors: number]

const THEN = 'when it closed'
/** An hour that has no row, or had none. */
export const NO_HOUR: Figures = [0, 0, 0]

/** Returns the differences, one sentence each. */
export function findingsOf(compared: ComparedDay): string[] {
  const { calendar, row, balance, hours, values } = compared
  const unbalanced = balance && whyUnbalanced(balance)
  const number = (column: string): number => numberIn(row, column)
  const removed = number('removed')
  const table: Comparison[] = [
    [unbalanced, undefined, String(unbalanced)],
    ...(values ? closingTable(compared, values) : []),
    [
      number('seconds') + removed,
      number('hour_views'),
      `its seconds have ${counted(number('seconds'), 'page view')}` +
        `${removed === 0 ? '' : `, ${removed} were removed by age`}, and its hours have ` +
        number('hour_views'),
    ],
    [
      number('listed_pages'),
      number('listed_hours'),
      `its values of ${PAGE} by the hour have ${counted(number('listed_pages'), 'page view')}, ` +
        `and its hours have ${number('listed_hours')}`,
    ],
    ...hours.map(({ hour, recounted }): Comparison => [
      recounted ?? '',
      '',
      `a recount of its hour ${hourName(calendar, Number(hour))} found ${String(recounted)}`,
    ]),
  ]
  return table.flatMap(([found, expected, sentence]) => (found === expected ? [] : [sentence]))
}

function closingTable(
  { day, calendar, row, hours }: ComparedDay,
  values: ReadonlyMap<string, SqlRow>,
): Comparison[] {
  const number = (column: string): number => numberIn(row, column)
  const first = row['first_day'] ?? null
  if (row['kept_views'] === null && first !== null && day >= Number(first)) {
    const missing = 'the day is closed, and activity_certificates does not have what it was then'
    return [[undefined, missing, missing]]
  }
  const { from, to } = calendar.hoursOf(day)
  const [now, then] = [figuresByHour(hours, calendar), keptHours(row['kept_hours'])]
  return [
    [day >= number('open_day'), false, 'the day was closed, and activity_books has it open again'],
    ...(['views', 'late', 'visitors'] as const).map((figure, index): Comparison => [
      number(`day_${figure}`),
      number(`kept_${figure}`),
      `activity_days has ${counted(number(`day_${figure}`), NOUNS[index]!)} of the day, and had ` +
        `${number(`kept_${figure}`)} ${THEN}`,
    ]),
    ...Array.from({ length: to - from }, (_, place): Comparison => {
      const [has, had] = [now, then].map((figures) => textOf(figures.get(place) ?? NO_HOUR))
      return [
        has,
        had,
        `its hour ${hourName(calendar, from + place)} has ${has}, and had ${had} ${THEN}`,
      ]
    }),
    ...[...values].flatMap(([dimension, sums]) => [
      valuesComparison(dimension, sums, 'day'),
      ...(from < numberIn(sums, 'values_from') ? [] : [valuesComparison(dimension, sums, 'hour')]),
    ]),
  ]
}

const NOUNS = ['page view', 'late page view', 'visitor']

/** Views that have moved between values are found by their weight. */
function valuesComparison(dimension: string, sums: SqlRow, by: 'day' | 'hour'): Comparison {
  const [views, then] = [numberIn(sums, `${by}_views`), numberIn(sums, 'closed_views')]
  const values = `its values of ${dimension} in activity_${by}_values`
  if (views !== then) {
    return [views, then, `${values} have ${counted(views, 'page view')}, and had ${then} ${THEN}`]
  }
  return [
    numberIn(sums, `${by}_weight`),
    numberIn(sums, `closed_${by}_weight`),
    `page views have moved between ${values} since it closed`,
  ]
}

/** Returns the beginning of an hour of a day, such as `13:00`. */
function hourName(calendar: Calendar, hour: number): string {
  return calendar.textOf(calendar.startOfHour(hour)).slice('2026-05-17T'.length, 16)
}

function textOf([views, late, visitors]: Figures): string {
  return `${counted(views, 'page view')} (${late} late) and ${counted(visitors, 'visitor')}`
}

/** By the places of hours in their day. */
export function figuresByHour(hours: readonly SqlRow[], calendar: Calendar): Map<number, Figures> {
  return new Map(
    hours.map((row) => [
      calendar.placeOf(numberIn(row, 'hour')),
      [numberIn(row, 'views'), numberIn(row, 'late'), numberIn(row, 'visitors')],
    ]),
  )
}

/** None if the text is not what the closing has written. */
function keptHours(json: unknown): ReadonlyMap<number, Figures> {
  try {
    return new Map(JSON.parse(String(json)) as [number, Figures][])
  } catch {
    return new Map()
  }
}

function numberIn(row: SqlRow, column: string): number {
  return Number(row[column] ?? 0)
}
