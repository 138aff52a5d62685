/** The days of one's choice. */
import { areDays, goRange, startOf } from './choice.js'
import { html } from './dom.js'

/** @param {HTMLElement} within */
export function daysForm(within) {
  const [first, last] = [html('input', { type: 'date' }), html('input', { type: 'date' })]
  for (const field of [first, last]) field.className = 'field'
  const wrong = html('span.down', { role: 'status' })
  const form = html(
    'form.days',
    html('label', 'From ', first),
    html('label', 'to ', last),
    html('button.button', 'Show'),
    wrong,
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const isRange = areDays(first.value, last.value)
    const isTurned = startOf(last.value) < startOf(first.value)
    wrong.textContent = isRange
      ? ''
      : isTurned
        ? 'The first day is after the last one.'
        : 'Two days.'
    if (isRange) goRange({ from: first.value, to: last.value })
  })
  within.append(form)

  /** @param {string} from @param {string} to */
  function show(from, to) {
    if (from) [first.value, last.value] = [from, to]
    wrong.textContent = ''
  }
  return { show, focus: () => first.focus() }
}
