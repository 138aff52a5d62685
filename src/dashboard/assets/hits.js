/** The most viewed items of each of the site's hits. */
import { byId, html } from './dom.js'
import { Panel } from './panel.js'
import { list } from './list.js'

export function hitsPanel() {
  const section = byId('hits')
  const holder = /** @type {HTMLElement} */ (section.querySelector('.body'))
  /** @type {Map<string, { panel: Panel, rows: ReturnType<typeof list> }>} */
  const cards = new Map()

  /** @param {{ name: string, asOf: string, items: [string, number][] | null }[]} lists */
  function show(lists) {
    section.hidden = lists.length === 0
    for (const { name, asOf, items } of lists) {
      const { panel, rows } = cards.get(name) ?? added(name)
      if (items) {
        rows.update(items.map(([value, count]) => ({ value, count })))
        panel.show([rows.element], { asOf })
      } else panel.missing()
    }
  }

  function missing() {
    for (const { panel } of cards.values()) panel.missing()
  }

  /** @param {string} name */
  function added(name) {
    const rows = list({
      title: `Hits: ${name}`,
      what: 'Item',
      count: 'Hits',
      address: (value) => ({ hits: name, value }),
    })
    const body = html('div')
    const made = { panel: new Panel(body), rows }
    cards.set(name, made)
    holder.append(html('article', { class: 'card', 'data-hits': name }, html('h3', {}, name), body))
    return made
  }

  return { show, missing }
}
