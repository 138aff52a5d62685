/** The figures of a range, as bars of a chart and as the sums of its tiles. */
import { shareOfAll, shareSeen } from './seen-share.js'
import { at, between, yearOf } from './format.js'

/** @typedef {'hour' | 'day' | 'week' | 'month'} By */
/** @typedef {import('./choice.js').Parameters} Address */
/** @typedef {{ from: number, to: number }} Range */
/** @typedef {Range & { by: By, before: Range | null,
 *   earlier: Address, later: Address | null }} Span */
/**
 * @typedef {object} Period
 * @property {string} start
 * @property {number | null} pageViews
 * @property {number | null} [visitors]
 * @property {number | null} [bots]
 * @property {number | null} [seen]
 * @property {number | null} [served]
 * @property {boolean} [imported]
 * @property {number | null} [unseen]
 */
/** @typedef {{ asOf: string, stale: boolean, figures: readonly Period[] }} Dated */
/** @typedef {readonly (number | null)[]} Counts */
/**
 * @typedef {object} Figures
 * @property {Span} span
 * @property {Dated | null} sums
 * @property {Counts | null} before
 * @property {{ visitors?: Counts, seen?: Counts, served?: Counts } | null} [earlier]
 * @property {boolean | undefined} [importedBefore] whether a day of the period before was imported
 * @property {string | null} firstDay
 * @property {readonly Period[] | null} [days]
 */
/**
 * A period and the one before, with its end, and how far it has come.
 *
 * @typedef {Period & { from: number, to: number, isOpen: boolean, isComing: boolean,
 *   then: Omit<Period, 'start'> | undefined, thenAt: number }} Both
 */

/** @param {Figures} figures @param {Dated} sums @returns {Both[]} */
export function bothOf({ span, before, earlier }, sums) {
  const asOf = Date.parse(sums.asOf)
  const starts = sums.figures.map(({ start }) => Date.parse(start))
  const apart = span.before ? span.from - span.before.from : 0
  return sums.figures.map((period, of) => {
    const [from = 0, to = span.to] = [starts[of], starts[of + 1]]
    const pageViews = before?.[of]
    return {
      ...period,
      from,
      to,
      isOpen: from <= asOf && to > asOf,
      isComing: from > asOf,
      thenAt: (from + to) / 2 - apart,
      then: typeof pageViews === 'number' ? { pageViews, ...thenOf(earlier ?? {}, of) } : undefined,
    }
  })
}

/** @param {Readonly<Record<string, Counts | undefined>>} earlier @param {number} of */
function thenOf(earlier, of) {
  return Object.fromEntries(
    Object.entries(earlier).map(([name, counts]) => [name, counts?.[of] ?? null]),
  )
}

/**
 * @param {readonly Omit<Period, 'start'>[]} periods
 * @param {'pageViews' | 'bots' | 'unseen'} [of]
 */
export const total = (periods, of = 'pageViews') =>
  periods.reduce((sum, one) => sum + (one[of] ?? 0), 0)

/** The periods that are over, and known in both. @param {readonly Both[]} both */
export function complete(both) {
  const now = both.filter(
    (one) => !one.isOpen && !one.isComing && one.then && one.pageViews !== null,
  )
  return { now, then: now.flatMap(({ then }) => then ?? []) }
}

/** @typedef {{ name: string, of: (period: Omit<Period, 'start'>) => number | null }} Metric */
/** @type {Metric} */
const VIEWS = { name: 'Page views', of: ({ pageViews }) => pageViews }
/** @type {Readonly<Record<string, Metric>>} */
const METRICS = {
  visitors: { name: 'Visitors', of: ({ visitors }) => visitors ?? null },
  seen: { name: 'Seen by browsers', of: (period) => shareSeen(period) ?? null },
}

/** What a chart shows. @param {string} name */
export const metricOf = (name) => METRICS[name] ?? VIEWS

/** What a range is called in the title. @param {Span} span */
export function titleOf({ from, to, by }) {
  if (by === 'month') return between('longMonth', from, to)
  const isDay = at('days', from) === at('days', to - 1)
  return isDay ? at('longDay', from) : between('days', from, to)
}

/** What it is called where there is little room. @param {Range} range @param {By} by */
export function shortTitle({ from, to }, by) {
  if (by === 'month') return between('monthOfYear', from, to)
  const isOfThisYear = yearOf(from) === yearOf(Date.now())
  return between(isOfThisYear ? 'day' : 'dayOfYear', from, to)
}

const IN_JANUARY = Date.UTC(2026, 0, 15)
const OPEN = { hour: 'Now', day: 'Today', week: 'This week', month: 'This month' }

/**
 * The names of bars: in full, and on the axis. A second 01:00, when clocks are put back, has the
 * name of its zone, and so has the first.
 *
 * @param {readonly Both[]} both
 * @param {By} by
 */
export function namesOf(both, by) {
  const times = both.map(({ from }) => at('time', from))
  const isManyYears = yearOf(both[0]?.from ?? 0) !== yearOf(both.at(-1)?.from ?? 0)
  return both.map(({ from, to, isOpen }, of) => {
    if (by === 'hour') {
      const isTwice = times.some(
        (time, other) => time === times[of] && other !== of && near(of, other),
      )
      const time = isTwice ? at('timeOfZone', from) : (times[of] ?? '')
      return { title: `${at('shortDay', from)}, ${time} – ${at('time', to)}`, short: time }
    }
    const short =
      by === 'month'
        ? at(
            isManyYears && (of === 0 || at('month', from) === at('month', IN_JANUARY))
              ? 'monthOfYear'
              : 'month',
            from,
          )
        : at(by === 'day' && both.length <= 8 ? 'weekday' : 'day', from)
    const title =
      by === 'day'
        ? at('longDay', from)
        : by === 'week'
          ? between('days', from, to)
          : at('longMonth', from)
    return { title, short: isOpen && both.length <= 8 ? OPEN[by] : short }
  })
}

/** Hours of one night. @param {number} one @param {number} other */
const near = (one, other) => Math.abs(one - other) === 1

/** The name of a period before. @param {Both} period @param {By} by */
export function thenTitle({ thenAt }, by) {
  if (by === 'month') return at('longMonth', thenAt)
  return by === 'week' ? `The week of ${at('day', thenAt)}` : at('shortDay', thenAt)
}

/** The share that browsers report, now and before. @param {readonly Both[]} both */
export function sharesSeen(both) {
  const { then } = complete(both)
  return { now: shareOfAll(both.filter(({ isComing }) => !isComing)), then: shareOfAll(then) }
}

/**
 * Views only grow: those of the open day are at least what the figures of now have. What came since
 * is in the newest period.
 *
 * @param {Dated} sums
 * @param {{ day: string, views: number } | undefined} today
 * @returns {Dated}
 */
export function withToday(sums, today) {
  const asOf = Date.parse(sums.asOf)
  const ofDay = sums.figures.filter(({ start }) => today && start.startsWith(today.day))
  const open = ofDay.findLast(({ start }) => Date.parse(start) <= asOf)
  const come = Math.max(0, (today?.views ?? 0) - total(ofDay))
  if (come === 0 || !open) return sums
  const figures = sums.figures.map((one) =>
    one === open ? { ...one, pageViews: (one.pageViews ?? 0) + come } : one,
  )
  return { ...sums, figures }
}
