/** Elements without HTML from strings: text from outside is always text. */

/** @typedef {Node | string} Child */
/** @typedef {Readonly<Record<string, string | number | boolean | undefined>>} Attributes */

const SVG = 'http://www.w3.org/2000/svg'

/**
 * An HTML element. An attribute that is `true` is empty; one that is `false` or `undefined` is left
 * out.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T | `${T}.${string}`} name its tag, and its classes, each after a dot
 * @param {(Attributes | Child)[]} parts its attributes, if it has any, and its children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function html(name, ...parts) {
  const [tag, ...classes] = name.split('.')
  const element = document.createElement(/** @type {T} */ (tag))
  if (classes.length > 0) element.className = classes.join(' ')
  for (const part of parts) {
    if (part instanceof Node || typeof part === 'string') element.append(part)
    else setAttributes(element, part)
  }
  return element
}

/**
 * An SVG element.
 *
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag)
  setAttributes(element, attributes)
  element.append(...children)
  return element
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) element.removeAttribute(name)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
}

/**
 * The element of the page with this id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`The page has no #${id}`)
  return element
}

/** Whether the page runs from right to left. */
export function rightToLeft() {
  return getComputedStyle(document.documentElement).direction === 'rtl'
}

/** What elements show. @type {WeakMap<Element, string>} */
const shown = new WeakMap()

/**
 * Replaces the children of an element if what they show has changed. The focus stays on the child
 * with the same `data-key`.
 *
 * @param {Element} parent
 * @param {unknown} key
 * @param {() => readonly Child[]} make
 */
export function renew(parent, key, make) {
  const text = JSON.stringify(key)
  if (shown.get(parent) === text) return
  shown.set(parent, text)
  const at = document.activeElement
  const focused = at instanceof HTMLElement && parent.contains(at) ? at.dataset['key'] : undefined
  parent.replaceChildren(...make())
  if (focused !== undefined) keyed(parent, focused)?.focus()
}

/**
 * @param {Element} within
 * @param {string} key
 */
export function keyed(within, key) {
  /** @type {HTMLElement[]} */
  const all = [...within.querySelectorAll('[data-key]')].flatMap((one) =>
    one instanceof HTMLElement ? [one] : [],
  )
  return all.find(({ dataset, offsetParent }) => dataset['key'] === key && offsetParent)
}

/** A placeholder as wide as a text that is not there yet. @param {string} text */
export function bone(text) {
  return html('span.bone', { 'aria-hidden': 'true' }, text)
}

/** A text for screen readers alone. @param {string} text */
export const hiddenText = (text) => html('span.hidden', text)
