/** One tooltip for the page: at the pointer in a chart, else below the element that has it. */
import { html, rightToLeft } from './dom.js'

const tip = html('div.tip', { 'aria-hidden': 'true', hidden: true })
document.body.append(tip)

const GAP = 8

/**
 * Shows lines, the first one strong. A line may be a name and its figure.
 *
 * @param {readonly (string | readonly [string, string])[]} lines
 * @param {number} x
 * @param {number} y
 * @param {boolean} [isBelow] else it is above the point, and beside it
 */
export function show(lines, x, y, isBelow = false) {
  const [first = '', ...rest] = lines
  tip.replaceChildren(
    html('strong', String(first)),
    ...rest.map((line) =>
      typeof line === 'string'
        ? html('div', line)
        : html('div.pair', html('span', line[0]), html('strong', line[1])),
    ),
  )
  tip.hidden = false
  const { offsetWidth: width, offsetHeight: height } = tip
  const room = document.documentElement.clientWidth
  const beside = x + 14 + width > room - GAP ? x - 14 - width : x + 14
  const left = Math.max(GAP, isBelow ? Math.min(x, room - width - GAP) : beside)
  const top = isBelow ? y : Math.max(GAP, y - height - 10)
  const across = rightToLeft() ? left + width - room : left
  tip.style.translate = `${across}px ${top + scrollY}px`
}

export function hide() {
  tip.hidden = true
}
