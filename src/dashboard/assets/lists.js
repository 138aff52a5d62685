/** The most viewed values of each dimension in the range. */
import { seenText, shareSeen, WHY_MORE } from './beside.js'
import { query, range } from './choice.js'
import { byId, html } from './dom.js'
import { download } from './downloads.js'
import { list } from './list.js'
import { Panel } from './panel.js'
import { json } from './poll.js'

/** @typedef {import('./beside.js').Views &
 *   { value: string | null, over?: number, before?: number }} Value */
/**
 * @typedef {object} Top
 * @property {string} dimension
 * @property {{ asOf: string, stale: boolean, figures: readonly Value[] } | null} top
 */

/** @type {Readonly<Record<string, string>>} */
export const TITLES = {
  page: 'Pages',
  referrer: 'Referrers',
  campaign: 'Campaigns',
  country: 'Countries',
  device: 'Devices',
}

export function listsPanel() {
  const holder = /** @type {HTMLElement} */ (byId('tops').querySelector('.body'))
  /** @type {Map<string, ReturnType<typeof card>>} */
  const cards = new Map()

  /** @param {import('./history.js').Figures} answer */
  function show({ lists, sums }) {
    const total = (sums?.figures ?? []).reduce((all, { pageViews }) => all + (pageViews ?? 0), 0)
    for (const one of lists) {
      const made = cards.get(one.dimension) ?? card(one.dimension)
      if (!cards.has(one.dimension)) holder.append(made.element)
      cards.set(one.dimension, made)
      made.show(one, total)
    }
  }

  function missing() {
    for (const { panel } of cards.values()) panel.missing()
  }

  return { show, missing }
}

/** @param {string} dimension */
function card(dimension) {
  const title = TITLES[dimension] ?? dimension
  let total = 0
  const rows = list({
    title: `Most viewed: ${title}`,
    what: title,
    count: 'Views',
    dimension,
    address: (value) => ({ dimension, value }),
    more,
  })
  const links = html('span')
  const isPage = dimension === 'page'
  const why = html('p', { class: 'sub', hidden: true }, WHY_MORE)
  const body = html('div')
  const panel = new Panel(body)
  const element = html(
    'article',
    { class: 'card', 'data-dimension': dimension },
    html('div', { class: 'bar' }, html('h3', {}, title), links),
    body,
  )

  async function more() {
    const { lists } = await json(`figures.json?${query({ ...range(), dimension })}`)
    fill(lists[0])
  }

  /**
   * @param {Top} answer
   * @param {number} all
   */
  function show(answer, all) {
    total = all
    // The page asks for the first ones only.
    if (rows.isOpen() && answer.top) more().catch(() => panel.missing())
    else fill(answer)
  }

  /** @param {Top} answer */
  function fill({ top }) {
    if (!top) return panel.missing()
    links.replaceChildren(...download({ dimension, n: rows.isOpen() ? 1_000 : 10 }, title))
    rows.update(
      top.figures.map(({ value, over, before, ...views }) => ({
        value,
        count: views.pageViews,
        ...(over !== undefined && { over }),
        ...(before !== undefined && { before }),
        note: isPage ? seenText(views) : '',
      })),
      total,
    )
    why.hidden = !isPage || !top.figures.some((views) => (shareSeen(views) ?? 0) > 100)
    panel.show([rows.element, why], top)
  }

  return { element, show, panel }
}
