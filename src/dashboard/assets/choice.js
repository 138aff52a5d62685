/** What the page shows, kept in its address: a range, and perhaps one value and its history. */
import { byId, html } from './dom.js'

/** @typedef {Readonly<Record<string, string>>} Parameters */

const RANGE = ['range', 'from', 'to']
const ITEM = ['dimension', 'hits', 'value']
/** @type {readonly [string, string][]} */
const RANGES = [
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['12m', '12 months'],
]
const DEFAULT = '7d'
const DAY_MS = 86_400_000
/** Days of the longest range that the server takes. */
const MOST_DAYS = 3_660

/** @param {readonly string[]} names */
function parameters(names) {
  const all = new URLSearchParams(location.search)
  return Object.fromEntries(
    names.flatMap((name) => (all.get(name) ? [[name, all.get(name) ?? '']] : [])),
  )
}

/**
 * The range, as the server is asked for it. Without what the server would refuse, as in an address
 * that was written by hand: then it is the default.
 */
export function range() {
  const { range: name = '', from = '', to = '' } = parameters(RANGE)
  if (areDays(from, to)) return { from, to }
  return RANGES.some(([known]) => known === name) ? { range: name } : {}
}

/** Whether the address asks for a range, and for none that there is. */
function isWrong() {
  return Object.keys(parameters(RANGE)).length > 0 && Object.keys(range()).length === 0
}

/** Whether there is a range of these days. @param {string} from @param {string} to */
function areDays(from, to) {
  const [first, last] = [startOf(from), startOf(to)]
  return last >= first && last - first < MOST_DAYS * DAY_MS
}

/** `NaN` for what is no day, such as 30 February. @param {string} day */
function startOf(day) {
  const time = Date.parse(`${day}T00:00Z`)
  return time >= 0 && new Date(time).toISOString().startsWith(`${day}T`) ? time : NaN
}

/** The value whose history is shown; without `value`: none. */
export const item = () => parameters(ITEM)

/** The address of the page with this value, in the same range. @param {Parameters} of */
export const itemAddress = (of) => address({ ...range(), ...of })

/** @param {Parameters} of */
export const query = (of) => new URLSearchParams(of).toString()

/** @param {Parameters} of */
function address(of) {
  return `${location.pathname}${Object.keys(of).length > 0 ? `?${query(of)}` : ''}`
}

/** @type {(() => void)[]} */
const listeners = []

/**
 * Calls `changed` after each change, also by the browser's back button.
 *
 * @param {() => void} changed
 */
export const onChange = (changed) => void listeners.push(changed)

function tell() {
  showRange()
  for (const changed of listeners) changed()
}

/** Goes to an address of the page, as a link to it would. @param {string} to */
export function go(to) {
  history.pushState(null, '', to)
  tell()
}

/** Shows the history of no value. */
export const closeItem = () => go(address(range()))

/**
 * A link to the history of a value, which does not load the page anew.
 *
 * @param {Parameters} of
 * @param {import('./dom.js').Child[]} text
 */
export function itemLink(of, ...text) {
  const link = html('a', { href: itemAddress(of) }, ...text)
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    // The range may be another one by now.
    go(itemAddress(of))
  })
  return link
}

/** @type {Map<string, HTMLInputElement>} */
const radios = new Map()
const [first, last] = [html('input', { type: 'date' }), html('input', { type: 'date' })]
const days = html(
  'span',
  { class: 'days', hidden: true },
  html('label', {}, 'From ', first),
  ' ',
  html('label', {}, 'to ', last),
)

const wrong = html('p', { class: 'sub', role: 'status', hidden: true })

/** @param {string} text says what is wrong with a range; empty: nothing */
function sayWrong(text) {
  wrong.hidden = text === ''
  wrong.textContent = text
}

function showRange() {
  sayWrong(isWrong() ? 'The address asks for a range that there is not: these are 7 days.' : '')
  const { range: name = DEFAULT, from = '', to = '' } = range()
  const chosen = from ? 'custom' : name
  for (const [value, radio] of radios) radio.checked = value === chosen
  if (chosen !== 'custom') days.hidden = true
  else {
    days.hidden = false
    first.value = from
    last.value = to
  }
}

/** A year that is typed is one of the first century at first. */
function customRange() {
  if (areDays(first.value, last.value)) {
    go(address({ from: first.value, to: last.value, ...item() }))
  } else if (startOf(last.value) < startOf(first.value)) {
    sayWrong('The first day is after the last one: the range is as before.')
  }
}

/** Fills the field for the range. */
export function begin() {
  for (const [value, name] of [...RANGES, ['custom', 'Other days']]) {
    const radio = html('input', { type: 'radio', name: 'range', value })
    radios.set(value ?? '', radio)
    byId('range').append(html('label', {}, radio, ` ${name}`))
    radio.addEventListener('change', () => {
      if (value === 'custom') days.hidden = false
      else go(address({ range: value ?? '', ...item() }))
    })
  }
  byId('range').append(days, wrong)
  for (const day of [first, last]) day.addEventListener('change', customRange)
  window.addEventListener('popstate', tell)
  showRange()
}
