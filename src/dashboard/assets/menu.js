/** A menu behind three dots. Escape and a click elsewhere close it. */
import { html, svg } from './dom.js'

/**
 * @param {string} label
 * @param {readonly HTMLElement[]} items links and buttons
 */
export function menu(label, items) {
  const dots = [2.5, 8, 13.5].map((cx) => svg('circle', { cx, cy: 8, r: 1.5 }))
  const picture = svg('svg', { width: 16, height: 16, 'aria-hidden': 'true' }, ...dots)
  return html(
    'details.menu.push',
    html('summary.icon', { 'aria-label': `${label}: more` }, picture),
    html('div', ...items),
  )
}

/** @returns {NodeListOf<HTMLDetailsElement>} */
const opened = () => document.querySelectorAll('details.menu[open]')

/** Closes the open menu. Returns whether there was one. */
export function closeMenu() {
  const [open] = opened()
  if (!open) return false
  open.open = false
  open.querySelector('summary')?.focus()
  return true
}

document.addEventListener('click', ({ target }) => {
  for (const one of opened()) {
    const isChosen = target instanceof Element && target.closest('.menu > div') !== null
    if (isChosen || !(target instanceof Node && one.contains(target))) one.open = false
  }
})
