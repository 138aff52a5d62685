/**
 * What the page shows, kept in its address: a range, what it is compared with, what the chart
 * shows, and perhaps one value, or the operation.
 */
import { byId, html } from './dom.js'

/** @typedef {Readonly<Record<string, string>>} Parameters */
/** @typedef {Readonly<Record<string, string | undefined>>} Changes */

/** @type {readonly (readonly [string, string])[]} */
export const RANGES = [
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['12m', '12 months'],
  ['month', 'Month'],
  ['all', 'All'],
]
export const DEFAULT = '7d'
/** Days of the longest range that the server takes. */
const MOST_DAYS = 3_660
const DAY_MS = 86_400_000
const NO_RANGE = { range: undefined, step: undefined, from: undefined, to: undefined }
export const NO_ITEM = { dimension: undefined, hits: undefined, value: undefined }
/** What an address may name, in its order, each with what it has where it is not named. */
const NAMES = Object.entries({
  ...NO_RANGE,
  ...NO_ITEM,
  range: DEFAULT,
  show: 'views',
  against: 'before',
  view: undefined,
})

/** Whether the page has totals only, and no values. */
const isPublic = byId('main').dataset['sees'] === 'totals'

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
 *
 * @returns {Parameters}
 */
export function range() {
  const { range: name = DEFAULT, step, from = '', to = '' } = parameters(Object.keys(NO_RANGE))
  if (areDays(from, to)) return { from, to }
  if (from || to || !RANGES.some(([known]) => known === name)) return {}
  const isStep = name !== 'all' && /^-[1-9]\d{0,2}$/.test(step ?? '')
  return { ...(name !== DEFAULT && { range: name }), ...(isStep && { step: step ?? '' }) }
}

/** Whether the address asks for a range, and for none that there is. */
export function isWrong() {
  const asked = parameters(['range', 'from', 'to'])
  const isDefault = asked['range'] === DEFAULT && !asked['from'] && !asked['to']
  return !isDefault && Object.keys(asked).length > 0 && Object.keys(range()).length === 0
}

/** Whether there is a range of these days. @param {string} from @param {string} to */
export function areDays(from, to) {
  const [first, last] = [startOf(from), startOf(to)]
  return last >= first && last - first < MOST_DAYS * DAY_MS
}

/** `NaN` for what is no day, such as 30 February. @param {string} day */
export function startOf(day) {
  const time = Date.parse(`${day}T00:00Z`)
  return time >= 0 && new Date(time).toISOString().startsWith(`${day}T`) ? time : NaN
}

/** What the figures are compared with: `before`, `year`, `none`, and for a value also `whole`. */
export function against() {
  const { against = 'before' } = parameters(['against'])
  const known = ['before', 'year', 'none', ...(item()['value'] ? ['whole'] : [])]
  return known.includes(against) ? against : 'before'
}

/** Parameters of a request for figures. @returns {Parameters} */
export function asked() {
  const of = against()
  const isAsked = of === 'year' || of === 'none'
  return { ...range(), ...(isAsked && { against: of }) }
}

/** What the chart shows: `now`, `views`, `visitors` or `seen`. */
export function metric() {
  const { show = 'views' } = parameters(['show'])
  return item()['value'] === undefined && ['now', 'visitors', 'seen'].includes(show)
    ? show
    : 'views'
}

/** The value whose history is shown; without `value`: none. @returns {Parameters} */
export const item = () => (isPublic ? {} : parameters(Object.keys(NO_ITEM)))

export const isOperation = () => parameters(['view'])['view'] === 'operation'

/** @param {Parameters} of */
export const query = (of) => new URLSearchParams(of).toString()

/** The address of the page with changes to what it shows. @param {Changes} changes */
export function address(changes) {
  const here = parameters(['show', 'against', 'view'])
  /** @type {Record<string, string | undefined>} */
  const all = { ...here, ...range(), ...item(), ...changes }
  if (!all['value'] && all['against'] === 'whole') delete all['against']
  // One view has one address.
  const text = query(
    Object.fromEntries(
      NAMES.flatMap(([name, unnamed]) => {
        const value = all[name]
        return value && value !== unnamed ? [[name, value]] : []
      }),
    ),
  )
  return `${location.pathname}${text ? `?${text}` : ''}`
}

/** @type {(() => void)[]} */
const listeners = []

/** Calls it after each change, also by the browser's back button. @param {() => void} changed */
export const onChange = (changed) => void listeners.push(changed)

function tell() {
  for (const changed of listeners) changed()
}

/**
 * Shows something else: an entry of the history, unless it is another look at the same.
 *
 * @param {Changes} changes
 * @param {boolean} [isSame]
 */
export function go(changes, isSame = false) {
  const to = address(changes)
  if (to === `${location.pathname}${location.search}`) return
  if (isSame) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  tell()
}

/** @param {Parameters} to @param {boolean} [isSame] */
export const goRange = (to, isSame = false) => go({ ...NO_RANGE, ...to }, isSame)

/**
 * A link to another view of the page, which does not load it anew.
 *
 * @param {import('./dom.js').Attributes} attributes
 * @param {Changes} changes
 * @param {import('./dom.js').Child[]} text
 */
export function link(attributes, changes, ...text) {
  const made = html('a', { href: address(changes), ...attributes }, ...text)
  // What else the page shows may be another by now.
  onClick(made, () => go(changes))
  return made
}

/**
 * Does something in place of what a link does, unless it is to be opened elsewhere.
 *
 * @param {HTMLElement} element
 * @param {() => void} work
 */
export function onClick(element, work) {
  element.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    work()
  })
}

/**
 * A link to the history of a value.
 *
 * @param {Parameters} of
 * @param {import('./dom.js').Child[]} text
 */
export const itemLink = (of, ...text) =>
  link({ 'data-key': query(of) }, { ...NO_ITEM, show: undefined, ...of }, ...text)

window.addEventListener('popstate', tell)
