/**
 * The lists of values in cards of two columns, some of which are tabs of one. The first ones come
 * with the figures of the range. The others, and the hours of a week, are asked for once they are
 * seen.
 */
import { asked, item, query } from './choice.js'
import { byId, html, renew } from './dom.js'
import { label } from './label.js'
import { boneCard, cardOf, list, seenOf } from './list.js'
import { json } from './poll.js'
import { styles } from './styles.js'

/** @typedef {{ over?: number | null | undefined, before?: number | null | undefined }} Compared */
/** @typedef {import('./seen-share.js').Views &
 *   { value: string | null, pageViews: number } & Compared} Value */
/** @typedef {{ asOf: string, stale: boolean, figures: readonly Value[] }} Top */
/** @typedef {{ dimension: string, top: Top | null }} Listed */
/** @typedef {{ dimension: string, tabOf?: string | null }} Later */
/**
 * @typedef {object} Hits
 * @property {string} name
 * @property {string} asOf
 * @property {({ item: string, hits: number } & Compared)[] | null} items
 * @property {number | null} total
 */
/**
 * @typedef {object} Answer
 * @property {readonly Listed[]} lists
 * @property {readonly Hits[]} hits
 * @property {readonly Later[]} later
 * @property {boolean} isCompared
 * @property {{ pageViews: number, bots: number }} totals
 * @property {string} asOf
 */
/** @typedef {ReturnType<typeof list>} Card */

/** Lists that are called as their values are, with an "s". */
const REGULAR = /^(?:page|section|referrer|source|campaign|device|browser|system|language|bot)$/
/** @type {Readonly<Record<string, readonly [many: string, one: string]>>} */
const TITLES = {
  country: ['Countries', 'Country'],
  gone: ['Missing', 'Missing page'],
  botPurpose: ['Purposes', 'Purpose of bots'],
  'bots:page': ['Pages for bots', 'Page for bots'],
}
const GONE = 'gone'
const OF_BOTS = ['bot', 'botPurpose', 'bots:page']
const MOST_ITEMS = '100'
/** So far below the window a card counts as seen. */
const MARGIN = '200px'

/** Whether a list is of the views of bots. @param {string | undefined} name */
export const isOfBots = (name = '') => OF_BOTS.includes(name)

/** What the values of a list are. @param {string} name */
export const valuesOf = (name) => (/^(?:bots:|under:|gone$)/.test(name) ? 'page' : name)

/** The name of one value. @param {import('./choice.js').Parameters} of */
export const kindOf = ({ dimension = '', hits }) => hits ?? titlesOf(dimension)[1]

/** @param {string} name @returns {readonly [many: string, one: string]} */
function titlesOf(name) {
  const one = REGULAR.test(name) ? name.replace(/^./, (first) => first.toUpperCase()) : ''
  return TITLES[name] ?? (one ? [`${one}s`, one] : [name, name])
}

/** @param {Value} value */
const entryOf = ({ value, over, before, ...views }) => ({
  value,
  count: views.pageViews,
  ...comparedOf({ over, before }),
  ...seenOf(views),
})

/** @param {NonNullable<Hits['items']>[number]} item */
const itemOf = ({ item, hits, ...compared }) => ({
  value: item,
  count: hits,
  ...comparedOf(compared),
})

/** @param {Compared} compared */
const comparedOf = ({ over, before }) =>
  typeof over === 'number' && typeof before === 'number' ? { over, before } : {}

/** What is asked for once an element is seen. @type {Map<Element, () => void>} */
const waiting = new Map()
const watch = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue
      watch.unobserve(target)
      waiting.get(target)?.()
    }
  },
  { rootMargin: MARGIN },
)

/** Calls `load` once the element is seen. @param {Element} element @param {() => void} load */
function whenSeen(element, load) {
  waiting.set(element, load)
  // An element that is observed anew is told of at once.
  watch.unobserve(element)
  watch.observe(element)
}

export function lists() {
  const bones = Array.from({ length: Number(byId('main').dataset['lists']) }, boneCard)
  const note = html('p.note.quiet', { hidden: true })
  const element = html('div.lists', { id: 'lists', tabindex: -1 }, note, ...bones)
  /** @type {Map<string, Card>} */
  const cards = new Map()
  /** Cards of which one is shown. @type {Set<Card>[]} */
  const groups = []
  const times = timesCard()
  /** The card of the pages under a path. @type {{ path: string, card: Card } | undefined} */
  let under
  /** @type {Answer | undefined} */
  let last

  /** @param {string} key @param {() => Card} make @param {string | null} [tabOf] */
  function made(key, make, tabOf) {
    const known = cards.get(key)
    if (known) return known
    const card = make()
    cards.set(key, card)
    const first = cards.get(tabOf ?? '')
    if (first) add(card, first)
    else {
      bones.pop()?.remove()
      element.append(card.element)
    }
    return card
  }

  /** Makes a card a tab of another one. @param {Card} card @param {Card} first */
  function add(card, first) {
    let group = groups.find((one) => one.has(first))
    if (!group) groups.push((group = new Set([first])))
    group.add(card)
    card.element.hidden = true
    first.element.after(card.element)
    drawTabs(group)
  }

  /** @param {ReadonlySet<Card>} group */
  function drawTabs(group) {
    for (const one of group) {
      one.showTabs([...group], (chosen) => {
        choose(group, chosen)
        chosen.heading.focus()
      })
    }
  }

  /** @param {ReadonlySet<Card>} group @param {Card | undefined} chosen */
  function choose(group, chosen) {
    for (const one of group) one.element.hidden = one !== chosen
  }

  /** Marks the value that is opened, and shows the pages under a section that is. */
  function showOpened() {
    for (const card of cards.values()) card.draw()
    const { dimension, value = '' } = item()
    const path = dimension === 'section' ? value : ''
    note.textContent = path
      ? 'The other lists are of the whole site.'
      : 'The lists are of the whole site, in the same days.'
    const first = cards.get('page')
    if (!first || path === (under?.path ?? '')) return
    const group = groups.find((one) => one.has(first))
    if (!group) return
    if (under) {
      under.card.element.remove()
      group.delete(under.card)
    }
    under = path ? { path, card: dimensionCard(`under:${path}`) } : undefined
    if (under) add(under.card, first)
    drawTabs(group)
    choose(group, under?.card ?? cards.get('section'))
    if (under) later(`under:${path}`, under.card)
  }

  /** @param {Answer} answer */
  function show(answer) {
    last = answer
    const { lists, hits } = answer
    for (const { dimension, top } of lists) {
      const card = made(dimension, () => dimensionCard(dimension))
      if (top) fill(card, dimension, top)
    }
    for (const { name, items, total } of hits) {
      const card = made(`hits ${name}`, () => hitsCard(name))
      if (items) {
        void card.update({ entries: items.map(itemOf), total, isCompared: answer.isCompared })
      }
    }
    for (const one of bones.splice(0)) one.remove()
    if (answer.later.length > 0) {
      if (!times.element.isConnected) element.append(times.element)
      whenSeen(times.element, times.load)
    }
    for (const { dimension, tabOf } of answer.later) {
      later(
        dimension,
        made(dimension, () => dimensionCard(dimension), tabOf),
      )
    }
    if (under) later(`under:${under.path}`, under.card)
    showOpened()
  }

  /** @param {string} dimension @param {Card} card */
  function later(dimension, card) {
    whenSeen(card.element, () => {
      const range = query(asked())
      // Where it fails, the next figures of the range ask again.
      topOf(dimension).then(
        (top) => range === query(asked()) && fill(card, dimension, top),
        () => undefined,
      )
    })
  }

  /** @param {Card} card @param {string} dimension @param {Top} top */
  function fill(card, dimension, top) {
    if (!last) return
    const { totals, isCompared, asOf } = last
    card.element.dataset['asOf'] = top.asOf
    void card.update({
      entries: top.figures.map(entryOf),
      total: dimension === GONE ? null : isOfBots(dimension) ? totals.bots : totals.pageViews,
      isCompared,
      ...((top.stale || Date.parse(top.asOf) < Date.parse(asOf)) && { lateSince: top.asOf }),
    })
  }

  /** The value that a list has, with its figures. @param {import('./choice.js').Parameters} of */
  const find = ({ dimension, hits, value = '' }) =>
    cards.get(dimension ?? `hits ${hits}`)?.find(value)

  return { element, show, showOpened, find, note }
}

/** All values of a list. @param {string} dimension @returns {Promise<Top>} */
async function topOf(dimension) {
  /** @type {{ lists: readonly [Listed] }} */
  const { lists } = await json(`figures.json?${query({ ...asked(), dimension })}`)
  if (!lists[0].top) throw new Error('There are no figures')
  return lists[0].top
}

/** @param {string} dimension */
function dimensionCard(dimension) {
  const ofBots = isOfBots(dimension)
  const [, path] = dimension.split(/^under:/)
  return list({
    title: path ? `Under ${label('page', path)}` : titlesOf(dimension)[0],
    count: ofBots ? 'Sent' : dimension === GONE ? 'Times' : 'Views',
    isPlain: dimension === GONE,
    dimension: valuesOf(dimension),
    name: dimension,
    ...(ofBots && {
      note: 'By their own word. Bots are no people: what they read is in no other figure.',
    }),
    address: (value) => ({ dimension: path ? 'page' : dimension, value }),
    all: async () => (await topOf(dimension)).figures.map(entryOf),
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

/** The hours of a week, whose script is loaded when they are seen. */
function timesCard() {
  const title = 'When people come'
  const holder = html('div.heat')
  const element = cardOf(title, html('h2.top', title), holder)
  element.id = 'times'
  async function load() {
    const range = query(asked())
    const [{ weekTable }, answer] = await Promise.all([
      import('./times.js'),
      json(`times.json?${range}`),
      styles(),
    ])
    if (range !== query(asked())) return
    element.dataset['asOf'] = answer.asOf
    renew(holder, answer.figures, () => weekTable(answer.figures))
  }
  return { element, load: () => void load().catch(() => undefined) }
}
