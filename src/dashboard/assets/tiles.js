/** The tiles: figures of the range, which choose what the chart shows. */
import { go, metric } from './choice.js'
import { bone, html, keyed, renew, rightToLeft, setAttributes } from './dom.js'
import { direction, signed } from './format.js'

/**
 * @typedef {object} Tile
 * @property {string} id
 * @property {string} name
 * @property {string} [value] without: it is not there yet
 * @property {string} [detail] a word, or a change as a text
 * @property {number} [change]
 * @property {string} [tip] lines that explain it
 * @property {boolean} [isLive]
 */

/** The text of a change, which is also its sign. @param {number | undefined} change */
export const changeText = (change) =>
  change === undefined ? {} : { change, detail: signed(change) }

export function tiles() {
  const element = html('div.tiles')
  element.addEventListener('keydown', (event) => {
    const all = [...element.querySelectorAll('[role=tab]')]
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = all.findIndex((one) => one === document.activeElement)
    if (step === undefined || at < 0) return
    event.preventDefault()
    const turned = rightToLeft() ? -step : step
    const next = all[(at + turned + all.length) % all.length]
    if (next instanceof HTMLElement) choose(next.dataset['key'] ?? '')
  })

  /** @param {string} id */
  function choose(id) {
    go({ show: id === 'views' ? undefined : id }, true)
    keyed(element, id)?.focus()
  }

  /**
   * @param {readonly Tile[]} all
   * @param {boolean} areTabs whether they choose, and not only tell
   */
  function update(all, areTabs) {
    const chosen = areTabs ? metric() : 'views'
    setAttributes(element, {
      role: areTabs && 'tablist',
      'aria-label': areTabs && 'What the chart shows',
    })
    renew(element, [all, areTabs, chosen], () =>
      all.map((one) => (areTabs ? tab(one, one.id === chosen) : plain(one, one.id === chosen))),
    )
  }

  /** @param {Tile} one @param {boolean} isChosen */
  function tab(one, isChosen) {
    const made = html(
      'button.tile',
      {
        type: 'button',
        role: 'tab',
        id: `tile-${one.id}`,
        'aria-selected': String(isChosen),
        'aria-controls': 'panel',
        tabindex: isChosen ? 0 : -1,
        'data-key': one.id,
        'data-tip': one.tip,
        'aria-description': one.tip,
      },
      ...inside(one),
    )
    made.addEventListener('click', () => choose(one.id))
    return made
  }

  /** @param {Tile} one @param {boolean} isChosen */
  const plain = (one, isChosen) =>
    html(
      'div',
      { class: `tile${isChosen ? ' chosen' : ''}`, id: `tile-${one.id}`, 'data-tip': one.tip },
      ...inside(one),
    )

  return { element, update }
}

/** @param {Tile} tile */
function inside({ name, value, detail, change, isLive = false }) {
  const style = change === undefined ? 'quiet' : direction(change)
  const text =
    detail === undefined ? [] : [html('bdi', { class: `detail ${style}`, dir: 'ltr' }, detail)]
  return [
    html('span.title-of', name, ...(isLive ? [html('span.dot.on')] : [])),
    html('span.figure', html('strong', value === undefined ? bone('16,344') : value), ' ', ...text),
  ]
}
