/** Elements without HTML from strings: text from outside is always text. */

/** @typedef {Node | string} Child */
/** @typedef {Readonly<Record<string, string | number | boolean | undefined>>} Attributes */

const SVG = 'http://www.w3.org/2000/svg'

/**
 * An HTML element. An attribute that is `true` is empty; one that is `false` or `undefined` is left
 * out.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  setAttributes(element, attributes)
  element.append(...children)
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

/**
 * A table of texts. The first cell of each row names the row.
 *
 * @param {string} caption
 * @param {readonly string[]} columns
 * @param {readonly (readonly string[])[]} rows
 */
export function table(caption, columns, rows) {
  return html(
    'table',
    { class: 'plain' },
    html('caption', { class: 'hidden' }, caption),
    html(
      'thead',
      {},
      html('tr', {}, ...columns.map((column) => html('th', { scope: 'col' }, column))),
    ),
    html(
      'tbody',
      {},
      ...rows.map(([first = '', ...others]) =>
        html(
          'tr',
          {},
          html('th', { scope: 'row' }, first),
          ...others.map((cell) => html('td', {}, cell)),
        ),
      ),
    ),
  )
}

/**
 * A table behind a switch, made only while it is open. What is read or selected there stays, as
 * long as it is the same.
 *
 * @param {string} name tells the switch from others
 * @param {() => HTMLElement} make
 * @returns {{ element: HTMLDetailsElement, update: () => void }}
 */
export function foldedTable(name, make) {
  const holder = html('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': name })
  const element = html(
    'details',
    {},
    html('summary', {}, html('span', {}, `Table: ${name}`)),
    holder,
  )
  const update = () => {
    if (!element.open) return
    const made = make()
    const [old = [], cells = []] = [holder, made].map((one) => [...one.querySelectorAll('th, td')])
    if (old.length !== cells.length) return holder.replaceChildren(made)
    cells.forEach(({ textContent }, at) => {
      const cell = old[at]
      if (cell && cell.textContent !== textContent) cell.textContent = textContent
    })
  }
  element.addEventListener('toggle', update)
  return { element, update }
}
