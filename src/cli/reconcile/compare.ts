/** Compares what a log has with what was counted, day by day and page by page. */
import { dayText } from '../../support/calendar-days.js'
import { OTHER } from '../../activity/sums.js'
import type { Counted, CountedDay } from './counted.js'
import type { Tally } from './tally.js'

/** A number of the log, and the one that was counted. */
export interface Pair {
  readonly log: number
  readonly counted: number
}

export interface ComparedDay {
  readonly day: string
  readonly pages: Pair
  readonly bots: Pair
  /** Views among those counted that are of earlier days. */
  readonly late: number
  /** Percent of the greater number by which the two differ, of people or of bots. */
  readonly difference: number
}

export interface Comparison {
  readonly days: readonly ComparedDay[]
  /** Days of the range that are not compared, each with the reason. */
  readonly left: readonly { readonly day: string; readonly why: string }[]
  /** Pages whose numbers differ on a day; the greatest difference first. */
  readonly pages: readonly ({ readonly day: string; readonly page: string } & Pair)[]
}

export function compare(tally: Tally, counted: Counted): Comparison {
  const days: ComparedDay[] = []
  const left: { day: string; why: string }[] = []
  const pages: ({ day: string; page: string } & Pair)[] = []
  for (const [number, ofDay] of counted.days) {
    const day = dayText(number)
    const why = whyUncounted(number, counted) ?? whyInPart(number, ofDay, tally, counted)
    if (why !== undefined) {
      left.push({ day, why })
      continue
    }
    const logged = tally.days.get(number)
    const { log, counted: known, differing } = pagesOf(logged?.pages ?? new Map(), ofDay, tally)
    for (const one of differing) pages.push({ day, ...one })
    const bots = { log: logged?.bots ?? 0, counted: ofDay.bots }
    const views = { log, counted: known }
    const difference = Math.max(percent(views, differing), percent(bots, [bots]))
    days.push({ day, pages: views, bots, late: ofDay.late, difference })
  }
  const distance = ({ log, counted: known }: Pair): number => Math.abs(log - known)
  return { days, left, pages: pages.sort((a, b) => distance(b) - distance(a)) }
}

/** Why a day has no figures that a log can be compared with. */
function whyUncounted(day: number, { firstDay, openDay }: Counted): string | undefined {
  if (day >= openDay) return 'it is not closed yet'
  if (day < firstDay) return 'nothing was counted yet'
  return day === firstDay ? 'counting began in the course of it' : undefined
}

/** Why a log does not have the whole day; `undefined`: it has. */
export function whyInPart(
  day: number,
  { hours }: Pick<CountedDay, 'hours'>,
  { days, first, last }: Tally,
  { calendar }: Pick<Counted, 'calendar'>,
): string | undefined {
  const moment = (ms: number): string => calendar.textOf(ms).slice(0, 19)
  if (first === Infinity) return 'the log has no line'
  if (first > calendar.startOfDay(day)) {
    return `the log begins at ${moment(first)}: give the file before it, too`
  }
  if (last < calendar.startOfDay(day + 1)) {
    return `the log ends at ${moment(last)}: give the file after it, too`
  }
  const missing = hours & ~(days.get(day)?.hours ?? 0)
  if (missing === 0) return undefined
  const hour = calendar.firstHour(day) + Math.log2(missing & -missing)
  return `the log has no line of the hour at ${moment(calendar.startOfHour(hour))}`
}

/**
 * Sums of the pages, and those that differ. Pages that the day does not list are one. A combined
 * log does not tell them from pictures, so there they are left out.
 */
function pagesOf(
  logged: ReadonlyMap<string, number>,
  { views, pages }: CountedDay,
  { hasCombined }: Tally,
): Pair & { readonly differing: readonly ({ readonly page: string } & Pair)[] } {
  const inLog = new Map<string, number>()
  for (const [page, count] of logged) {
    const known = pages.has(page) || !pages.has('') ? page : ''
    inLog.set(known, (inLog.get(known) ?? 0) + count)
  }
  const left = hasCombined ? (pages.get('') ?? 0) : 0
  const compared = [...new Set([...inLog.keys(), ...pages.keys()])]
    .filter((page) => !hasCombined || page !== '')
    .map((page) => ({ page, log: inLog.get(page) ?? 0, counted: pages.get(page) ?? 0 }))
  return {
    log: compared.reduce((sum, { log }) => sum + log, 0),
    counted: views - left,
    differing: compared
      .filter(({ log, counted }) => log !== counted)
      .map((one) => ({ ...one, page: one.page || OTHER })),
  }
}

/** @param parts those of `whole` that differ */
function percent({ log, counted }: Pair, parts: readonly Pair[]): number {
  const more = parts.reduce((sum, one) => sum + Math.max(0, one.log - one.counted), 0)
  const less = parts.reduce((sum, one) => sum + Math.max(0, one.counted - one.log), 0)
  const most = Math.max(more, less, Math.abs(log - counted))
  return (100 * most) / Math.max(1, log, counted)
}
