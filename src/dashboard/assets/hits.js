/** The most viewed items of each of the site's hits. */
import { query, range } from './choice.js'
import { byId, html } from './dom.js'
import { download } from './downloads.js'
import { Panel } from './panel.js'
import { list } from './list.js'
import { json } from './poll.js'

const MOST = '100'

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
        links.replaceChildren(...download({ hits: name, n: rows.isOpen() ? MOST : 10 }, name))
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
      more: async () => show(await json(`hits.json?${query({ ...range(), n: MOST })}`)),
    })
    const body = html('div')
    const links = html('span')
    const made = { panel: new Panel(body), rows, links }
    cards.set(name, made)
    const bar = html('div', { class: 'bar' }, html('h3', {}, name), links)
    holder.append(html('article', { class: 'card', 'data-hits': name }, bar, body))
    return made
  }

  /** How many items to ask for, if more than the first ones. */
  function asked() {
    return [...cards.values()].some(({ rows }) => rows.isOpen()) ? { n: MOST } : {}
  }

  return { show, missing, asked }
}
