/** The most viewed values: a table with bars behind its rows, which can be searched. */
import { itemLink } from './choice.js'
import { html } from './dom.js'
import { change, number, percent } from './format.js'
import { label, named, OTHER, ownWords } from './label.js'

/**
 * @typedef {object} Entry
 * @property {string | null} value
 * @property {number} count
 * @property {number} [before] the same in the period before; without: not known
 * @property {number} [over] what that is compared with, if not all of `count`
 * @property {string} [note]
 */

const SHOWN = 10

/**
 * @param {object} about
 * @param {string} about.title names the table
 * @param {string} about.what names the first column
 * @param {string} about.count names the second column
 * @param {string} [about.dimension]
 * @param {(value: string) => Record<string, string>} about.address of the history of a value
 * @param {() => Promise<void>} [about.more] asks for all values
 */
export function list({ title, what, count, dimension = '', address, more }) {
  /** @type {readonly Entry[]} */
  let entries = []
  let [shown, total, isOpen] = ['', 0, false]
  const rows = html('tbody')
  const nothing = html('p', { class: 'none', hidden: true }, 'Nothing in this time')
  const search = html('input', { type: 'search', 'aria-label': `Search ${title}`, hidden: true })
  search.placeholder = 'Search'
  const button = html('button', { type: 'button', hidden: true, 'aria-label': `More ${title}` })
  button.textContent = 'More'
  const head = [what, count, 'Share', 'Change'].map((one) => html('th', { scope: 'col' }, one))
  const holder = html(
    'div',
    {},
    html(
      'table',
      { class: 'ranked' },
      html('caption', { class: 'hidden' }, title),
      html('thead', {}, html('tr', {}, ...head)),
      rows,
    ),
  )
  const element = html('div', {}, search, holder, nothing, button)

  search.addEventListener('input', () => draw())
  button.addEventListener('click', async () => {
    isOpen = true
    holder.className = 'scrolls'
    button.hidden = true
    await more?.().catch(() => undefined)
    draw()
    search.focus()
  })

  /**
   * @param {readonly Entry[]} newEntries
   * @param {number} [sum] the count of all values, of which the shares are
   */
  function update(newEntries, sum = 0) {
    entries = newEntries
    total = sum
    draw()
  }

  function draw() {
    const sought = search.value.trim().toLowerCase()
    const names = entries.filter(({ value }) => !ownWords(dimension, value))
    const own = entries.filter((entry) => !names.includes(entry))
    const found = names.filter(({ value }) =>
      `${value} ${label(dimension, value ?? '')}`.toLowerCase().includes(sought),
    )
    search.hidden = !isOpen && names.length <= SHOWN
    button.hidden = isOpen || names.length < SHOWN
    const visible = [...(isOpen ? found : found.slice(0, SHOWN)), ...(sought ? [] : own)]
    nothing.hidden = visible.length > 0
    holder.hidden = visible.length === 0
    // What is read or selected there stays, as long as nothing changes.
    const key = JSON.stringify([visible, total, location.search])
    if (key === shown) return
    shown = key
    const at = focused()
    const most = Math.max(1, ...names.map(({ count }) => count))
    rows.replaceChildren(...visible.map((entry) => row(entry, most)))
    rows.querySelectorAll('a')[at]?.focus()
  }

  /** Which of the links has the focus. */
  function focused() {
    return [...rows.querySelectorAll('a')].findIndex((link) => link === document.activeElement)
  }

  /**
   * @param {Entry} entry
   * @param {number} most
   */
  function row({ value, count: views, before, over = views, note }, most) {
    const words = ownWords(dimension, value)
    const hasHistory = value !== null && !(words && value === OTHER)
    const name = hasHistory
      ? itemLink(address(value), named(dimension, value))
      : html('em', {}, words?.[0] ?? '')
    const small = [words?.[1], note].flatMap((text) => (text ? [' ', html('small', {}, text)] : []))
    const share = total > 0 ? percent(Math.min(1, views / total)) : ''
    const made = html(
      'tr',
      { class: words ? 'quiet' : undefined },
      html('th', { scope: 'row' }, name, ...small),
      ...[number(views), share, change(over, before)].map((cell) => html('td', {}, cell)),
    )
    made.style.setProperty('--share', words ? '0%' : `${(100 * views) / most}%`)
    return made
  }

  return { element, update, isOpen: () => isOpen }
}
