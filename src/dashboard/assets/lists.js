/** The most viewed values of each dimension, and the items of hits, in cards of two columns. */
import { asked, query } from './choice.js'
import { byId, html } from './dom.js'
import { boneCard, list, seenOf } from './list.js'
import { json } from './poll.js'

/** @typedef {import('./beside.js').Views &
 *   { value: string | null, pageViews: number, over?: number, before?: number }} Value */
/**
 * @typedef {object} Top
 * @property {string} dimension
 * @property {{ asOf: string, stale: boolean, figures: readonly Value[] } | null} top
 */
/**
 * @typedef {object} Hits
 * @property {string} name
 * @property {string} asOf
 * @property {{ item: string, hits: number, over?: number, before?: number }[] | null} items
 * @property {number | null} total
 */
/** @typedef {ReturnType<typeof list>} Card */

/** @type {Readonly<Record<string, readonly [many: string, one: string]>>} */
const TITLES = {
  page: ['Pages', 'Page'],
  referrer: ['Referrers', 'Referrer'],
  campaign: ['Campaigns', 'Campaign'],
  country: ['Countries', 'Country'],
  device: ['Devices', 'Device'],
  section: ['Sections', 'Section'],
  browser: ['Browsers', 'Browser'],
  system: ['Systems', 'System'],
  language: ['Languages', 'Language'],
  source: ['Sources', 'Source'],
}
const MOST_ITEMS = '100'

/** The name of one value. @param {import('./choice.js').Parameters} of */
export const kindOf = ({ dimension = '', hits }) => hits ?? TITLES[dimension]?.[1] ?? dimension

/** @param {Value} value */
const entryOf = ({ value, over, before, ...views }) => ({
  value,
  count: views.pageViews,
  ...(over !== undefined && { over }),
  ...(before !== undefined && { before }),
  ...seenOf(views),
})

/** @param {NonNullable<Hits['items']>[number]} item */
const itemOf = ({ item, hits, ...compared }) => ({ value: item, count: hits, ...compared })

export function lists() {
  const bones = Array.from({ length: Number(byId('main').dataset['lists']) }, boneCard)
  const note = html('p', { class: 'note quiet', hidden: true })
  note.textContent = 'The lists are of the whole site, in the same days.'
  const element = html('div', { class: 'lists', id: 'lists', tabindex: -1 }, note, ...bones)
  /** @type {Map<string, Card>} */
  const cards = new Map()

  /** @param {string} key @param {() => Card} make */
  function cardOf(key, make) {
    const card = cards.get(key) ?? make()
    if (!cards.has(key)) {
      bones.pop()?.remove()
      element.append(card.element)
    }
    cards.set(key, card)
    return card
  }

  /**
   * @param {{ lists: readonly Top[], hits: readonly Hits[], span: { before: unknown },
   *   total: number, asOf: string }} answer
   */
  function show({ lists, hits, span, total, asOf }) {
    const isCompared = span.before !== null
    for (const { dimension, top } of lists) {
      const card = cardOf(dimension, () => dimensionCard(dimension))
      if (!top) continue
      card.element.dataset['asOf'] = top.asOf
      void card.update({
        entries: top.figures.map(entryOf),
        total,
        isCompared,
        ...(isLate(top, asOf) && { lateSince: top.asOf }),
      })
    }
    for (const { name, items, total } of hits) {
      const card = cardOf(`hits ${name}`, () => hitsCard(name))
      if (items) void card.update({ entries: items.map(itemOf), total, isCompared })
    }
    for (const one of bones.splice(0)) one.remove()
  }

  /** The value that a list has, with its figures. @param {import('./choice.js').Parameters} of */
  const find = ({ dimension, hits, value = '' }) =>
    cards.get(dimension ?? `hits ${hits}`)?.find(value)

  return { element, show, find, note }
}

/** @param {{ asOf: string, stale: boolean }} top @param {string} asOf */
function isLate(top, asOf) {
  return top.stale || Date.parse(top.asOf) < Date.parse(asOf)
}

/** @param {string} dimension */
function dimensionCard(dimension) {
  return list({
    title: TITLES[dimension]?.[0] ?? dimension,
    count: 'Views',
    dimension,
    address: (value) => ({ dimension, value }),
    async all() {
      /** @type {{ lists: readonly [Top] }} */
      const { lists } = await json(`figures.json?${query({ ...asked(), dimension })}`)
      if (!lists[0].top) throw new Error('There are no figures')
      return lists[0].top.figures.map(entryOf)
    },
    file: (type, n) => `shown.${type}?${query({ ...asked(), dimension, n: String(n) })}`,
  })
}

/** @param {string} name */
function hitsCard(name) {
  return list({
    title: name,
    count: 'Hits',
    address: (value) => ({ hits: name, value }),
    async all() {
      /** @type {readonly Hits[]} */
      const all = await json(`hits.json?${query({ ...asked(), n: MOST_ITEMS })}`)
      return (all.find((one) => one.name === name)?.items ?? []).map(itemOf)
    },
    file(type, n) {
      const most = String(Math.min(n, Number(MOST_ITEMS)))
      return `shown.${type}?${query({ ...asked(), hits: name, n: most })}`
    },
  })
}
