/** The most viewed items of each of the site's hits. */
import { byId, html } from './dom.js'
import { download } from './downloads.js'
import { Panel } from './panel.js'
import { list } from './list.js'

export function hitsPanel() {
  const section = byId('hits')
  const holder = /** @type {HTMLElement} */ (section.querySelector('.body'))
  /** @type {Map<string, { panel: Panel, rows: ReturnType<typeof list>, links: HTMLElement }>} */
  const cards = new Map()

  /**
   * @typedef {object} Hits
   * @property {string} name
   * @property {string} asOf
   * @property {{ item: string, hits: number, over?: number, before?: number }[] | null} items
   * @property {number | null} total
   */
  /** @param {Hits[]} lists */
  function show(lists) {
    section.hidden = lists.length === 0
    for (const { name, asOf, items, total } of lists) {
      const { panel, rows, links } = cards.get(name) ?? added(name)
      if (items) {
        links.replaceChildren(...download({ hits: name, n: rows.isOpen() ? 100 : 10 }, name))
        rows.update(
          items.map(({ item, hits, ...compared }) => ({ value: item, count: hits, ...compared })),
          total ?? 0,
        )
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
      more: async () => links.replaceChildren(...download({ hits: name, n: 100 }, name)),
    })
    const body = html('div')
    const links = html('span')
    const made = { panel: new Panel(body), rows, links }
    cards.set(name, made)
    const bar = html('div', { class: 'bar' }, html('h3', {}, name), links)
    holder.append(html('article', { class: 'card', 'data-hits': name }, bar, body))
    return made
  }

  return { show, missing }
}
