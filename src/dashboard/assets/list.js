/**
 * A list of values in a card: ten of them, or with search all. It can be sorted by views or by
 * change. The rule under a row stands for all views, and its dark part for the share of the row.
 */
import { shareSeen, WHY_MORE } from './seen-share.js'
import { asked, item, itemLink, query } from './choice.js'
import { bone, html, renew } from './dom.js'
import { at, direction, number, percent, shareText, signed } from './format.js'
import { fullName, inOneLine, label, named, OTHER, ownWords } from './label.js'
import { menu } from './menu.js'

/**
 * @typedef {object} Entry
 * @property {string | null} value
 * @property {number} count
 * @property {number} [before] the same in the period before; without: not known
 * @property {number} [over] what that is compared with, if not all of `count`
 * @property {number} [seen]
 */
/**
 * @typedef {object} Shown
 * @property {readonly Entry[]} entries
 * @property {number | null} total of which the shares are; `null`: not known
 * @property {boolean} isCompared
 * @property {string} [lateSince] when the figures end, if they are older than those of the header
 */
/** @typedef {{ change: number, isNew: boolean } | undefined} Change */

const SHOWN = 10
/** Fewer views in both periods say nothing about a change. */
const LEAST_TO_COMPARE = 20
/** Heights are measured in half rems, which the cards of both columns fill. */
const GRID_REM = 0.5
const GAP_REM = 1

/** @param {Entry} entry @returns {Change} */
function changeOf({ count, over = count, before }) {
  if (before === undefined) return undefined
  return before === 0
    ? { change: Infinity, isNew: true }
    : { change: over / before - 1, isNew: false }
}

/**
 * @param {object} about
 * @param {string} about.title
 * @param {string} about.count names the column of counts
 * @param {string} [about.dimension] of the values; without: items of hits
 * @param {string} [about.name] of the list
 * @param {string} [about.note] what it says of all its values
 * @param {boolean} [about.isPlain] whether its values have no history, and no share of the views
 * @param {(value: string) => import('./choice.js').Parameters} about.address of a value's history
 * @param {() => Promise<readonly Entry[]>} about.all asks for all values
 * @param {(type: string, n: number) => string} about.file the address of what is shown, as a file
 */
export function list({ title, count, dimension = '', name, note, isPlain, address, all, file }) {
  /** @type {Shown | undefined} */
  let shown
  /** What is to be shown. @type {Shown | undefined} */
  let newest
  /** All values, while they are shown or sorted by change. @type {readonly Entry[] | undefined} */
  let every
  /** The range of which those are. */
  let everyOf = ''
  let isOpen = false
  let sort = 'views'

  const files = ['CSV', 'JSON'].map((type) => html('a', { download: true }, `Download as ${type}`))
  const heading = html('h2', { tabindex: -1 }, title)
  const search = html('input', { type: 'search', class: 'field', hidden: true })
  search.placeholder = `Search ${title.toLowerCase()}`
  search.setAttribute('aria-label', search.placeholder)
  const head = html('tr')
  const body = html('tbody', ...boneRows())
  const holder = html(
    'div',
    { 'aria-hidden': 'true' },
    html(
      'table.ranked',
      html('caption.hidden', `${title}, most viewed first`),
      html('thead', head),
      body,
    ),
  )
  const nothing = html('p.quiet.none', { hidden: true }, 'Nothing in this time')
  const foot = html('div.foot')
  const why = html('p.quiet.small', { hidden: !note }, note ?? WHY_MORE)
  const tabs = html('div.tabs', heading)
  const top = html('div.top', tabs, menu(title, files))
  const element = cardOf(title, top, search, holder, nothing, why, foot)
  element.dataset[dimension ? 'dimension' : 'hits'] = name ?? title
  search.addEventListener('input', draw)
  for (const link of files) link.addEventListener('click', nameFiles)
  function nameFiles() {
    files.forEach((link, of) =>
      link.setAttribute('href', file(['csv', 'json'][of] ?? '', isOpen ? 1_000 : SHOWN)),
    )
  }

  /**
   * Shows the titles of the cards of which this is one.
   *
   * @template {{ title: string }} Card
   * @param {readonly Card[]} all
   * @param {(card: Card) => void} choose
   */
  function showTabs(all, choose) {
    tabs.replaceChildren(
      ...all.map((one) => {
        if (one.title === title) return heading
        const button = html('button', { type: 'button', class: 'tab' }, one.title)
        button.addEventListener('click', () => choose(one))
        return button
      }),
    )
  }

  /** @param {Shown} answer */
  async function update(answer) {
    newest = answer
    if (isOpen || sort === 'change') await readAll()
    if (newest !== answer) return
    shown = answer
    draw()
  }

  /** Reads all values of the range. Where that fails, those that are known of it stay. */
  async function readAll() {
    const range = query(asked())
    const values = await all().catch(() => undefined)
    if (range !== query(asked())) return
    if (values || range !== everyOf) every = values
    everyOf = range
  }

  /** @param {string} key */
  async function sortBy(key) {
    sort = key
    if (key === 'views' && !isOpen) every = undefined
    if (key === 'change' && !every) await readAll()
    draw()
  }

  async function open() {
    isOpen = true
    await readAll()
    draw()
    search.focus()
  }

  function close() {
    isOpen = false
    search.value = ''
    if (sort === 'views') every = undefined
    draw()
    heading.focus()
  }

  function drawHead() {
    const isSeen = hasSeen()
    renew(head, [sort, shown?.isCompared, isSeen], () => [
      html('th', { scope: 'col' }, html('span.hidden', 'Name')),
      column('views', count),
      ...(isPlain ? [] : [html('th', { scope: 'col', class: 'share' }, 'Share')]),
      ...(isSeen ? [html('th', { scope: 'col', class: 'seen' }, 'Seen')] : []),
      ...(shown?.isCompared === false ? [] : [column('change', 'Change')]),
    ])
  }

  /** @param {string} key @param {string} text */
  function column(key, text) {
    const isChosen = sort === key
    const button = html(
      'button',
      { type: 'button', class: 'sort', 'data-key': key },
      `${text}${isChosen ? ' ↓' : ''}`,
    )
    button.addEventListener('click', () => void sortBy(key))
    const sorted = isChosen ? 'descending' : undefined
    return html('th', { scope: 'col', class: key, 'aria-sort': sorted }, button)
  }

  function hasSeen() {
    return dimension === 'page' && (shown?.entries ?? []).some(({ seen }) => seen !== undefined)
  }

  function draw() {
    if (!shown) return
    holder.removeAttribute('aria-hidden')
    drawHead()
    nameFiles()
    const { entries: first, total, isCompared, lateSince } = shown
    const entries = (isOpen || sort === 'change' ? every : undefined) ?? first
    const names = sorted(entries.filter(({ value }) => !ownWords(dimension, value)))
    const own = entries.filter(({ value }) => ownWords(dimension, value))
    const sought = search.value.trim().toLowerCase()
    const found = names.filter(({ value }) =>
      `${value} ${label(dimension, value ?? '')}`.toLowerCase().includes(sought),
    )
    const isSeen = hasSeen()
    const visible = [...(isOpen ? found : found.slice(0, SHOWN)), ...(sought ? [] : own)]
    search.hidden = !isOpen
    holder.classList.toggle('scrolls', isOpen)
    nothing.hidden = visible.length > 0
    holder.hidden = visible.length === 0
    why.hidden = !note && !(isSeen && visible.some(({ seen }) => (seen ?? 0) > 1))
    renew(body, [visible, total, isCompared, isSeen, item(), location.search], () =>
      visible.map((entry) => row(entry, { total, isCompared, isSeen })),
    )
    const isMore = isOpen || names.length >= SHOWN
    foot.hidden = !isMore && lateSince === undefined
    renew(foot, [isOpen, isMore, lateSince], () => [
      ...(isMore ? [more()] : []),
      ...(lateSince === undefined ? [] : [late(lateSince)]),
    ])
  }

  function more() {
    const text = isOpen ? `The first ${SHOWN}` : `All ${title.toLowerCase()}`
    const button = html('button', { type: 'button', class: 'link', 'data-key': 'more' }, text)
    button.addEventListener('click', () => (isOpen ? close() : void open()))
    return button
  }

  /** @param {string} since */
  const late = (since) => html('span.late.push', `As of ${at('time', Date.parse(since))}`)

  /** @param {readonly Entry[]} entries */
  function sorted(entries) {
    if (sort === 'views') return entries
    return entries
      .filter(({ count, before = 0 }) => Math.max(count, before) >= LEAST_TO_COMPARE)
      .filter((one) => changeOf(one))
      .toSorted((a, b) => (changeOf(b)?.change ?? 0) - (changeOf(a)?.change ?? 0))
  }

  /**
   * @param {Entry} entry
   * @param {{ total: number | null, isCompared: boolean, isSeen: boolean }} columns
   */
  function row(entry, { total, isCompared, isSeen }) {
    const { value, count: views, seen } = entry
    const words = ownWords(dimension, value)
    const hasHistory = value !== null && !isPlain && !(words && value === OTHER)
    const name = hasHistory
      ? itemLink(address(value), named(dimension, value))
      : html('span.name', { tabindex: 0 }, words?.[0] ?? inOneLine(label(dimension, value ?? '')))
    name.dataset['tip'] = words ? `${words[0]}\n${words[1]}` : fullName(dimension, value ?? '')
    const share = total ? Math.min(1, views / total) : undefined
    const isCurrent = value !== null && query(address(value)) === query(item())
    const made = html(
      'tr',
      { class: words ? 'own' : undefined, 'aria-current': isCurrent ? 'true' : undefined },
      html('th', { scope: 'row' }, name),
      html('td.views', number(views)),
      ...(isPlain ? [] : [html('td.share', share === undefined ? '' : shareText(share))]),
      ...(isSeen ? [html('td.seen', seen === undefined ? '' : percent(seen))] : []),
      ...(isCompared ? [changeCell(changeOf(entry))] : []),
    )
    made.style.setProperty('--share', `${(100 * (share ?? 0)).toFixed(1)}%`)
    return made
  }

  return {
    element,
    heading,
    title,
    showTabs,
    update,
    draw,
    find: (/** @type {string | null} */ of) =>
      (every ?? shown?.entries ?? []).find(({ value }) => value === of),
  }
}

/** @param {Change} change */
function changeCell(change) {
  if (!change) return html('td.change')
  if (change.isNew) return html('td.change', html('span.pill', 'new'))
  const text = html('bdi', { dir: 'ltr' }, signed(change.change))
  return html('td', { class: `change ${direction(change.change)}` }, text)
}

/** The share of views that browsers report. @param {import('./seen-share.js').Views} views */
export function seenOf(views) {
  const share = shareSeen(views)
  return share === undefined ? {} : { seen: share }
}

/** A card that is as high as its parts need. @param {string} title @param {HTMLElement[]} parts */
export function cardOf(title, ...parts) {
  const inside = html('div.inside', ...parts)
  const element = html('section.card', { 'aria-label': title }, inside)
  new ResizeObserver(() => {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize)
    const rows = Math.ceil((inside.offsetHeight / rem + GAP_REM) / GRID_REM)
    element.style.setProperty('--rows', String(rows))
  }).observe(inside)
  return element
}

/** Rows for values that are not there yet. */
function boneRows() {
  const row = () =>
    html(
      'tr',
      html('th', { scope: 'row' }, bone('/a/usual/name/of/a/page')),
      html('td.views', bone('1,234')),
      html('td.share', bone('12%')),
      html('td.change', bone('+12%')),
    )
  return Array.from({ length: SHOWN }, row)
}

/** A card of the final height, for a list that is not there yet. */
export function boneCard() {
  const table = html('table.ranked', html('tbody', ...boneRows()))
  return html('div.card.bones', { 'aria-hidden': 'true' }, html('div.inside', table))
}
