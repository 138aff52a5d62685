/** When people come: the hours of a week, darker with more page views. It is a table. */
import { html } from './dom.js'
import { apart, number, timesWith } from './format.js'

/** @typedef {{ weekday: number, hour: number, pageViews: number, days: number }} WeekHour */

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const WEEKDAYS = [0, 1, 2, 3, 4, 5, 6]
/** Hours with a name above them. */
const NAMED = 6
const SHADES = 5

/** @param {readonly WeekHour[]} figures */
export function weekTable(figures) {
  const means = new Map(
    figures.map(({ weekday, hour, pageViews, days }) => [24 * weekday + hour, pageViews / days]),
  )
  const most = Math.max(0, ...means.values())
  if (most === 0) return [html('p.quiet', 'Nothing in this time')]
  /** @param {number} weekday @param {number} hour */
  const cell = (weekday, hour) => {
    const mean = means.get(24 * weekday + hour)
    const text = mean === undefined ? 'not known' : number(Math.round(10 * mean) / 10)
    const tip = `${nameOf(weekday, hour)}\n${text}${mean === undefined ? '' : ' page views'}`
    return html(
      'td',
      { class: `s${Math.ceil((SHADES * (mean ?? 0)) / most)}`, 'data-tip': tip },
      html('span.hidden', text),
    )
  }
  const [busiest = 0] = [...means].find(([, mean]) => mean === most) ?? []
  const weeks = Math.max(...figures.map(({ days }) => days))
  return [
    html(
      'table.week',
      html('caption.hidden', 'Page views by weekday and hour'),
      html('colgroup', html('col.weekdays'), html('col', { span: 24 })),
      html(
        'thead',
        html(
          'tr',
          html('th', { scope: 'col' }, html('span.hidden', 'Weekday')),
          ...HOURS.map((hour) =>
            html(
              'th',
              { scope: 'col' },
              html('span', { class: hour % NAMED ? 'hidden' : undefined }, hourName(hour)),
            ),
          ),
        ),
      ),
      html(
        'tbody',
        ...WEEKDAYS.map((weekday) =>
          html(
            'tr',
            html('th', { scope: 'row' }, weekdayName(weekday, 'short')),
            ...HOURS.map((hour) => cell(weekday, hour)),
          ),
        ),
      ),
    ),
    html(
      'p.quiet.small',
      `Page views an hour, on average of ${weeks} weeks. Most on ` +
        `${nameOf(Math.floor(busiest / 24), busiest % 24)}.`,
    ),
  ]
}

/** The name of an hour of any day. @param {number} hour */
const hourName = (hour) =>
  apart(timesWith({ hour: '2-digit', minute: '2-digit', timeZone: 'UTC' }).format(hour * 3_600_000))

/** @param {number} weekday 0 is Monday @param {'short' | 'long'} style */
const weekdayName = (weekday, style) =>
  // 1970-01-05 was a Monday.
  apart(timesWith({ weekday: style, timeZone: 'UTC' }).format((weekday + 4) * 86_400_000))

/** @param {number} weekday @param {number} hour */
const nameOf = (weekday, hour) =>
  `${weekdayName(weekday, 'long')}, ${hourName(hour)} – ${hourName(hour + 1)}`
