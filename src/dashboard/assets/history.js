/** The history of the range, and that of one value: each with the period before as a thin line. */
import { besideText } from './beside.js'
import { chart } from './chart.js'
import { closeItem, item } from './choice.js'
import { byId, html } from './dom.js'
import { download } from './downloads.js'
import {
  change,
  counted,
  dayAfter,
  dayOf,
  dayRange,
  hourOfWeek,
  minuteOfDay,
  number,
  shortUtcDay,
  timeZone,
  utcDay,
} from './format.js'
import { named } from './label.js'
import { TITLES } from './lists.js'
import { Panel } from './panel.js'

/**
 * @typedef {object} Span
 * @property {number} from
 * @property {number} to
 * @property {'hour' | 'day'} by
 * @property {string} zone
 * @property {readonly [first: string, last: string]} days
 * @property {readonly [first: string, last: string]} daysBefore
 */
/**
 * @typedef {object} Period
 * @property {string} start
 * @property {number | null} pageViews
 * @property {number | null} [visitors]
 */
/**
 * @typedef {object} Sums
 * @property {string} start
 * @property {number | null} pageViews
 * @property {number | null} visitors
 * @property {number | null} [bots]
 * @property {number | null} [seen]
 * @property {number | null} [served]
 */
/**
 * @template {Period} P
 * @typedef {{ asOf: string, stale: boolean, figures: readonly P[] } | null} Dated
 */
/**
 * @typedef {object} Figures
 * @property {Span} span
 * @property {Dated<Sums>} sums
 * @property {readonly (number | null)[] | null} before
 * @property {string | null} noDataBefore
 * @property {readonly Sums[] | null} days
 * @property {readonly import('./lists.js').Top[]} lists
 */

/** @param {string} zone */
const daysIn = (zone) => (zone === 'UTC' ? 'UTC days' : `days in ${zone}`)

/** @param {Span} span */
function noteOf({ by, zone }) {
  if (by === 'hour') return `Hours are in ${timeZone}; the days they belong to are ${daysIn(zone)}.`
  const once = 'A visitor is counted once a day, so visitors of days do not add up.'
  return `Days are ${daysIn(zone)}. ${once}`
}

/** @param {Span} span */
const unitOf = ({ by, zone }) => (by === 'hour' ? 'Hour' : zone === 'UTC' ? 'UTC day' : 'Day')

/**
 * The end of each period: days have 23 or 25 hours where clocks are set.
 *
 * @param {Span} span
 * @param {readonly Period[]} periods
 * @param {number} at
 */
const endOf = ({ to }, periods, at) => Date.parse(periods[at + 1]?.start ?? '') || to

/**
 * The bars of periods, and those so far: what has ended by `asOf`, with the same of before.
 *
 * @param {Span} span
 * @param {readonly Period[]} periods
 * @param {readonly (number | null)[] | null} before
 * @param {number} asOf
 */
function barsOf(span, periods, before, asOf) {
  const { by } = span
  return periods.map(({ start, pageViews, visitors }, at) => {
    const time = Date.parse(start)
    const isComing = time > asOf
    return {
      label: by === 'hour' ? hourOfWeek(time) : utcDay(dayOf(start)),
      short: by === 'hour' ? minuteOfDay(time) : shortUtcDay(dayOf(start)),
      values: isComing ? [undefined] : visitors === undefined ? [pageViews] : [pageViews, visitors],
      before: before?.[at],
      open: !isComing && endOf(span, periods, at) > asOf,
    }
  })
}

/**
 * `, +12 % against …`: of the periods that are over and known, in both.
 *
 * @param {Pick<Figures, 'span' | 'before' | 'noDataBefore'>} answer
 * @param {readonly Period[]} periods
 * @param {number} asOf
 */
function compared({ span, before, noDataBefore }, periods, asOf) {
  const { by, to, daysBefore } = span
  let [now, then] = [0, 0]
  periods.forEach(({ pageViews }, at) => {
    const earlier = before?.[at] ?? null
    if (pageViews === null || earlier === null) return
    if (endOf(span, periods, at) > asOf) return
    now += pageViews
    then += earlier
  })
  const young = noDataBefore ? ` (no data ${beforeFirst(noDataBefore)})` : ''
  if (then === 0) return young
  const until = asOf >= to ? '' : ` up to the same ${by}`
  const [first, last] = daysBefore
  const whole = noDataBefore ? dayAfter(noDataBefore) : first
  const days = dayRange(whole > first ? whole : first, last)
  return `, ${change(now, then)} against ${days}${until}${young}`
}

/** `before 28 August 2026`, or `yet`. @param {string | null} first the first day */
function beforeFirst(first) {
  return first ? `before ${dayRange(first, first)}` : 'yet'
}

/**
 * Views only grow: those of the open day are at least what the figures of now have. What came since
 * is in the newest period.
 *
 * @param {readonly Sums[]} periods
 * @param {number} asOf
 * @param {import('./now.js').Today} now
 */
function withToday(periods, asOf, { day, views }) {
  const ofDay = periods.filter(({ start }) => start.startsWith(day))
  const open = ofDay.findLast(({ start }) => Date.parse(start) <= asOf)
  const come = Math.max(0, views - total(ofDay))
  return periods.map((one) =>
    one === open && come > 0 ? { ...one, pageViews: (one.pageViews ?? 0) + come } : one,
  )
}

/** @param {readonly Period[]} periods */
function total(periods) {
  return periods.reduce((sum, { pageViews }) => sum + (pageViews ?? 0), 0)
}

export function historyPanel() {
  const sum = html('p', { class: 'sum' })
  const drawn = chart({ title: 'Page views and visitors', series: ['Page views', 'Visitors'] })
  const note = html('p', { class: 'sub' })
  const beside = html('p', { class: 'sub', id: 'beside' })
  const links = html('p', { class: 'links' })
  const panel = new Panel('history')
  /** @type {Figures | undefined} */
  let shown
  /** @type {import('./now.js').Today} */
  let today = { day: '-', views: 0 }

  /** @param {Figures} answer */
  function show(answer) {
    const { span, sums } = answer
    byId('history-title').textContent = dayRange(...span.days)
    if (!sums) return panel.missing()
    shown = answer
    draw(answer, sums)
    panel.show([sum, drawn.element, note, beside, links], sums)
  }

  /**
   * @param {Figures} answer
   * @param {NonNullable<Figures['sums']>} sums
   */
  function draw(answer, sums) {
    const { span, before, days } = answer
    const asOf = Date.parse(sums.asOf)
    const figures = withToday(sums.figures, asOf, today)
    drawn.update(barsOf(span, figures, before, asOf), unitOf(span))
    const views = counted(total(figures), 'page view')
    const difference = compared(answer, figures, asOf)
    sum.textContent = figures.some(({ pageViews }) => pageViews !== null)
      ? `${views}${difference}. ${visitors(figures, days)}`
      : `No data ${beforeFirst(answer.noDataBefore)}.`
    note.textContent = noteOf(span)
    beside.textContent = besideText(sums.figures)
    links.replaceChildren(...download({}, 'Page views'))
  }

  /** Shows the views of the open day that they have. @param {import('./now.js').Answer} answer */
  function now({ overview }) {
    if (!overview || overview.figures.today.views === today.views) return
    today = overview.figures.today
    if (shown?.sums) draw(shown, shown.sums)
  }

  return { show, now, missing: () => panel.missing() }
}

/**
 * @param {readonly Sums[]} periods
 * @param {readonly Sums[] | null} days
 */
function visitors(periods, days) {
  const of = days ?? periods
  if (of.length === 1) return `${counted(of[0]?.visitors ?? 0, 'visitor')}.`
  const most = Math.max(0, ...of.map((day) => day.visitors ?? 0))
  return days || periods.length > 0 ? `At most ${counted(most, 'visitor')} on one day.` : ''
}

/**
 * The address of a page of the site, or `undefined`. A value is any text, and browsers leave tabs
 * and line breaks out of an address: then `/\t/` is the start of another site's.
 *
 * @param {string} value
 */
function pageAddress(value) {
  if (!value.startsWith('/') || !URL.canParse(value, location.origin)) return undefined
  const { origin, href } = new URL(value, location.origin)
  return origin === location.origin ? href : undefined
}

export function itemPanel() {
  const section = byId('item')
  const close = html('button', { type: 'button' }, 'Close')
  const title = html('h2', { id: 'item-title', tabindex: -1 })
  const body = html('div', { class: 'body' })
  section.replaceChildren(html('div', { class: 'bar' }, title, close), body)
  close.addEventListener('click', closeItem)
  const sum = html('p', { class: 'sum' })
  const drawn = chart({ title: 'Page views of this value', series: ['Page views'] })
  const unknown = html('p', { class: 'sub', id: 'unknown' })
  const note = html(
    'p',
    { class: 'sub' },
    'There are no visitors of one value, and no values within a value: the site counts each ' +
      'dimension by itself, so that nobody can be followed from one to the other.',
  )
  const links = html('p', { class: 'links' })
  /** @type {Panel | undefined} */
  let panel
  let of = ''

  /** Shows the name of the value, until its history comes. */
  function begin() {
    const { dimension = '', hits, value } = item()
    section.hidden = value === undefined
    const key = JSON.stringify(item())
    if (value === undefined || key === of) return void (of = key)
    of = key
    title.replaceChildren(`${hits ?? TITLES[dimension] ?? dimension}: `, named(dimension, value))
    panel = new Panel(body)
    title.focus()
    section.scrollIntoView({ block: 'nearest' })
  }

  /** @param {Omit<Figures, 'sums' | 'days' | 'lists'> & { sums: Dated<Period> }} answer */
  function show(answer) {
    const { span, sums, before } = answer
    const { dimension, value = '' } = item()
    if (!sums) return panel?.missing()
    const asOf = Date.parse(sums.asOf)
    drawn.update(barsOf(span, sums.figures, before, asOf), unitOf(span))
    const missing = sums.figures.filter(({ pageViews }) => pageViews === null).length
    const least = missing > 0 ? 'At least ' : ''
    const views = counted(total(sums.figures), 'view')
    sum.textContent = `${least}${views}${compared(answer, sums.figures, asOf)}.`
    unknown.hidden = missing === 0
    unknown.textContent =
      `Not known for ${number(missing)} of ${counted(sums.figures.length, span.by)}: there the ` +
      'value is among all others, is not kept any more, or there were no figures yet.'
    links.replaceChildren(...download(item(), 'This value'))
    const page = dimension === 'page' ? pageAddress(value) : undefined
    if (page) links.prepend(html('a', { href: page }, 'Open the page'))
    panel?.show([sum, drawn.element, unknown, note, links], sums)
  }

  return { begin, show, missing: () => panel?.missing() }
}
