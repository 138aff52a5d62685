/** The bar at the top: the range, steps through time, and one age for all figures. */
import { DEFAULT, goRange, isOperation, range, RANGES } from './choice.js'
import { byId, html, setAttributes } from './dom.js'
import { short } from './format.js'
import { styles } from './styles.js'

const OTHER = 'other'
/** @type {Map<string, HTMLInputElement>} */
const radios = new Map()
const select = /** @type {HTMLSelectElement} */ (byId('ranges'))
/** The place of the days of one's choice. */
export const days = html('div', { hidden: true })
/** @type {ReturnType<typeof import('./days.js')['daysForm']> | undefined} */
let form

/** Addresses of the ranges before and after this one; `null`: there is none. */
/** @type {Record<'earlier' | 'later', import('./choice.js').Parameters | null>} */
let steps = { earlier: null, later: null }
/** Whether the last key in the range was an arrow: those are one step, however many. */
let isByKeys = false

/** @param {string} name */
function pick(name) {
  if (name !== OTHER) {
    const isSame = isByKeys && byId('range').dataset['stepped'] === 'true'
    byId('range').dataset['stepped'] = String(isByKeys)
    return goRange({ range: name === DEFAULT ? '' : name }, isSame)
  }
  void showDays().then(() => form?.focus())
}

async function showDays(from = '', to = '') {
  days.hidden = false
  const [{ daysForm }] = await Promise.all([import('./days.js'), styles()])
  form ??= daysForm(days)
  form.show(from, to)
}

/** Fills the bar. */
export function beginHeader() {
  const field = byId('range')
  for (const [value, name] of [...RANGES, [OTHER, 'Other days…']]) {
    const radio = html('input', { type: 'radio', name: 'range', value })
    radio.addEventListener('change', () => pick(radio.value))
    radios.set(radio.value, radio)
    field.append(html('label', radio, name ?? ''))
    select.append(html('option', { value }, name ?? ''))
  }
  field.addEventListener('keydown', () => (isByKeys = true))
  field.addEventListener('pointerdown', () => (isByKeys = false))
  field.addEventListener('focusout', ({ relatedTarget }) => {
    const isInside = relatedTarget instanceof Node && field.contains(relatedTarget)
    if (!isInside) delete field.dataset['stepped']
  })
  select.addEventListener('change', () => pick(select.value))
  for (const end of /** @type {const} */ (['earlier', 'later'])) {
    byId(end).addEventListener('click', () => {
      const to = steps[end]
      if (to) goRange(to)
    })
  }
  showHeader()
}

/** Shows which range is chosen. */
export function showHeader() {
  const { range: name = DEFAULT, from = '', to = '' } = range()
  const chosen = from ? OTHER : name
  for (const [value, radio] of radios) radio.checked = value === chosen
  select.value = chosen
  days.hidden = chosen !== OTHER
  if (from) void showDays(from, to)
  byId('when').hidden = isOperation()
  const unit = { '7d': '7 days', '30d': '30 days', '12m': '12 months', month: 'A month' }[name]
  const step = from ? 'Days' : (unit ?? 'A day')
  for (const end of ['earlier', 'later']) byId(end).setAttribute('aria-label', `${step} ${end}`)
}

/** @param {typeof steps} to */
export function showSteps(to) {
  steps = to
  for (const end of /** @type {const} */ (['earlier', 'later'])) {
    setAttributes(byId(end), { disabled: to[end] === null })
  }
}

const OLD_S = 60
/** When the newest figures were made, on this clock. */
/** @type {number | undefined} */
let madeAt
/** @type {string | null | undefined} */
let trouble

/**
 * Shows how old the figures are, and what is wrong. Only a change of state is announced.
 *
 * @param {string | null | undefined} wrong `undefined`: nothing has come yet
 * @param {number} [ageSeconds] of the figures, if they are new
 */
export function showAge(wrong, ageSeconds) {
  trouble = wrong
  if (ageSeconds !== undefined) madeAt = performance.now() - ageSeconds * 1_000
  tick()
}

function tick() {
  const age = madeAt === undefined ? undefined : (performance.now() - madeAt) / 1_000
  const isBad = Boolean(trouble)
  const state = trouble === undefined ? 'Loading' : isBad ? 'Old' : 'Live'
  const status = byId('status')
  if (status.textContent !== state) status.textContent = state
  status.classList.toggle('hidden', isBad && age !== undefined)
  byId('live').classList.toggle('bad', isBad)
  const dot = state === 'Loading' ? ' off' : isBad ? ' bad' : ''
  byId('live').firstElementChild?.setAttribute('class', `dot${dot}`)
  const text = age === undefined ? '' : short(age)
  byId('age').textContent = text && (isBad ? `${text} old` : `· ${text} ago`)
  byId('main').classList.toggle('old', isBad && (age ?? OLD_S) >= OLD_S)
}

setInterval(tick, 1_000)
