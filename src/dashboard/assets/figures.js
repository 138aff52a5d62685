/** The figures of a range, or of one value in it: title, tiles, chart and lists. */
import { WHY_MORE } from './seen-share.js'
import { chart, spikesOf } from './chart.js'
import {
  against,
  asked,
  go,
  goRange,
  isWrong,
  item,
  itemLink,
  metric,
  query,
  range,
} from './choice.js'
import { bone, byId, hiddenText, html, renew } from './dom.js'
import { at, number, percent, shortNumber, span as lasting, zoneName } from './format.js'
import { days } from './header.js'
import { fullName, inOneLine, label } from './label.js'
import { isOfBots, lists } from './lists.js'
import { menu } from './menu.js'
import {
  bothOf,
  complete,
  metricOf,
  namesOf,
  sharesSeen,
  shortTitle,
  thenTitle,
  titleOf,
  total,
  withToday,
} from './periods.js'
import { styles } from './styles.js'
import { changeText, tiles } from './tiles.js'

/** @typedef {import('./periods.js').Figures} Figures */
/** @typedef {import('./periods.js').Both} Both */
/** @typedef {import('./periods.js').By} By */
/** @typedef {Parameters<ReturnType<typeof lists>['show']>[0]} OfLists */
/** @typedef {Pick<OfLists, 'lists' | 'hits' | 'later'>} Lists */
/** @typedef {Figures & Lists & { notes: readonly string[] }} Answer */
/** @typedef {import('./tiles.js').Tile} Tile */
/**
 * The figures of now.
 *
 * @typedef {object} Overview
 * @property {string} asOf
 * @property {boolean} stale
 * @property {{ windowSeconds: number, pageViews: number, visitors: number,
 *   today: { day: string, views: number } }} figures
 */

const NEWEST = 6
const IMPORTED = 'Hatched: imported, not counted here.'
const ONCE_A_DAY = 'A visitor is counted once a day, so days are not added up.'
const WHY_UNSEEN =
  'not reported by a browser: blocked scripts, privacy tools, people who left before it loaded, ' +
  'agents that pose as browsers.'

export function figuresView() {
  /** @type {Answer | undefined} */
  let answer
  /** Of the value. @type {Figures | undefined} */
  let ofItem
  /** Whose figures those are, or will be. */
  let itemKey = query(item())
  /** Of today by the hour. @type {Figures | undefined} */
  let ofToday
  /** @type {any} */
  let now
  /** @type {Overview | undefined} */
  let lastOverview
  let isCut = false

  const chosen = html('span.chosen-item')
  /** What a value needs, once it is loaded. @type {typeof import('./item.js') | undefined} */
  let itemParts
  const heading = html('h1', { tabindex: -1 }, hiddenText('Loading'), bone('22 – 28 November 2026'))
  const zone = html('span.quiet.small')
  const compare = html('select.select', { 'aria-label': 'Compare with' })
  const comparing = html('div.against.push', compare)
  const wrong = html('p.down', { role: 'status', hidden: true })
  wrong.textContent = 'The address asks for a range that there is not: these are 7 days.'
  const tabs = tiles()
  const drawn = chart()
  const legend = html('span.legend')
  const cut = html('button', { type: 'button', class: 'button', hidden: true })
  const open = html('a.button', { hidden: true }, 'Open the page')
  const asTable = html('button', { type: 'button' }, 'Show as a table')
  const files = ['CSV', 'JSON'].map((type) => html('a', { download: true }, `Download as ${type}`))
  const tools = html('span.tools.push', cut, open, menu('Chart', [asTable, ...files]))
  const foot = html('p.quiet.small', { id: 'notes' })
  const newest = html('ol')
  const reading = html('div.reading', { hidden: true }, html('h2', 'Newest pages'), newest)
  const main = html('div', html('div.head', legend, tools), drawn.element, foot)
  const panel = html('div.panel', {
    id: 'panel',
    role: 'tabpanel',
    'aria-label': 'Chart',
  })
  panel.append(main, reading)
  const start = html('div.start', { hidden: true })
  const listed = lists()
  const title = html('div.title', chosen, heading, zone, wrong, comparing, days)
  const card = html(
    'section.card',
    { id: 'history', 'aria-label': 'Figures' },
    tabs.element,
    panel,
    start,
  )
  const element = html('div', title, card, listed.element)

  compare.addEventListener('change', () => {
    go({ against: compare.value === 'before' ? undefined : compare.value }, true)
  })
  cut.addEventListener('click', () => {
    isCut = !isCut
    draw()
  })
  asTable.addEventListener('click', () => {
    asTable.textContent = drawn.toggle() ? 'Show as bars' : 'Show as a table'
  })
  showTitle()
  draw()

  /** Whether another chart is asked for than the one that is shown. */
  function changed() {
    isCut = false
    // The figures of one value never stand under the name of another.
    if (query(item()) !== itemKey) ofItem = undefined
    itemKey = query(item())
    showTitle()
    draw()
  }

  function showTitle() {
    wrong.hidden = !isWrong()
    const of = item()
    const value = of['value'] ?? ''
    if (value && !itemParts) void loadItem()
    renew(chosen, [of, !itemParts], () => (value && itemParts ? [itemParts.chip(of, value)] : []))
    listed.note.hidden = value === ''
    listed.showOpened()
    files.forEach((link, at) =>
      link.setAttribute('href', `shown.${['csv', 'json'][at]}?${query({ ...asked(), ...of })}`),
    )
    const page = of['dimension'] === 'page' ? itemParts?.pageAddress(value) : undefined
    open.hidden = page === undefined
    if (page) open.setAttribute('href', page)
    if (!answer) return
    const { span } = answer
    renew(heading, titleOf(span), () => [titleOf(span)])
    zone.textContent = zoneName()
    comparing.hidden = range()['range'] === 'all' || isNothing()
    const before =
      span.before && against() !== 'year' ? shortTitle(span.before, span.by) : undefined
    const options = [
      ['before', `Against ${before ?? 'the period before'}`],
      ['year', 'Against the same days last year'],
      ['none', 'Against nothing'],
      ...(value
        ? [['whole', `Beside ${isOfBots(of['dimension']) ? 'all bots' : 'the whole site'}`]]
        : []),
    ]
    renew(compare, options, () =>
      options.map(([of, text = '']) => html('option', { value: of }, text)),
    )
    compare.value = against()
  }

  function draw() {
    const of = item()['value'] === undefined ? answer : ofItem
    const isNow = metric() === 'now'
    panel.classList.toggle('split', isNow)
    if (!isNow) reading.hidden = true
    else void styles().then(() => (reading.hidden = metric() !== 'now'))
    // An address that names a value shows that, and what leads to its page.
    const isEmpty = isNothing() && item()['value'] === undefined
    panel.hidden = isEmpty
    start.hidden = !isEmpty
    listed.element.hidden = isEmpty
    if (isEmpty) void showStart().catch(() => undefined)
    const today = of === answer ? now?.overview?.figures.today : undefined
    const sums = of?.sums && withToday(of.sums, today)
    if (!answer || !of || !sums) {
      return tabs.update([nowTile(), ...bones()], item()['value'] === undefined)
    }
    card.dataset['asOf'] = sums.asOf
    const both = bothOf(of, sums)
    if (of === answer) tabs.update(siteTiles(answer, both), true)
    else if (itemParts) {
      const compared = comparedTo(both, of)
      tabs.update(itemParts.itemTiles(answer, both, compared, listed.find(item())), false)
    }
    const shown = isNow ? ofToday : of
    const ofShown = isNow ? ofToday?.sums : sums
    if (shown && ofShown) drawChart(shown, isNow ? bothOf(shown, ofShown) : both, ofShown.asOf)
    else if (isNow) renew(legend, 'none', () => ['Loading'])
  }

  /** @param {Figures} of @param {readonly Both[]} both @param {string} asOf */
  function drawChart(of, both, asOf) {
    const { span } = of
    const isSite = of !== ofItem
    const isShare = metric() === 'seen'
    const isWhole = !isSite && against() === 'whole'
    const { name: plain, of: valueOf } = metricOf(metric())
    const isLong = span.by === 'week' || span.by === 'month'
    const ofBots = !isSite && isOfBots(item()['dimension'])
    const name = ofBots
      ? 'Pages sent to bots'
      : isLong && metric() === 'visitors'
        ? 'Visitors of the best day'
        : plain
    const names = namesOf(both, span.by)
    const whole = isWhole && answer?.sums ? answer.sums.figures : []
    const notes = metric() === 'now' ? [] : (answer?.notes ?? [])
    const wholeName = ofBots ? 'All bots' : 'Whole site'
    const bars = both.map((one, at) => {
      const then = one.then ? valueOf(one.then) : span.before ? null : undefined
      const before = isWhole ? whole[at]?.[ofBots ? 'bots' : 'pageViews'] : then
      const to = addressOf(one, span.by)
      return {
        title: names[at]?.title ?? '',
        short: names[at]?.short ?? '',
        ...(!one.isComing && { value: valueOf(one) }),
        ...(before !== undefined && { before }),
        ...(isShare && { unseen: one.unseen }),
        beforeTitle: isWhole ? wholeName : thenTitle(one, span.by),
        open: one.isOpen,
        ...(one.imported && { imported: true }),
        ...(notes[at] && { note: notes[at] }),
        ...(to && { show: () => goRange(to) }),
      }
    })
    const hasBefore = bars.some(({ before }) => typeof before === 'number')
    const beforeName = isWhole
      ? `${wholeName}, on the scale at the end`
      : metric() === 'now'
        ? 'The same day a week ago'
        : span.before && shortTitle(span.before, span.by)
    drawn.update({
      bars,
      name,
      unit: span.by,
      ...(hasBefore && beforeName && { beforeName }),
      isWhole,
      isShare,
      isCut,
      until: at('time', Date.parse(asOf)),
      text: isShare ? percent : number,
    })
    const caption = `${name} by ${span.by}${metric() === 'now' ? ', today' : ''}`
    renew(legend, [caption, hasBefore, beforeName], () => [
      html('span.key', caption),
      ' ',
      ...(hasBefore && beforeName
        ? [html('span', { class: isWhole ? 'key line' : 'key dash' }, beforeName)]
        : span.before
          ? [html('span', 'No figures of the period before')]
          : []),
    ])
    const spikes = isShare || span.by === 'hour' ? undefined : spikesOf(bars)
    cut.hidden = !spikes
    cut.setAttribute('aria-pressed', String(isCut))
    if (spikes) cut.textContent = isCut ? 'Full scale' : `Cut at ${shortNumber(spikes.limit)}`
    foot.textContent = footOf(both, isSite)
  }

  /** @param {readonly Both[]} both @param {boolean} isSite */
  function footOf(both, isSite) {
    const hatched = both.some(({ imported }) => imported) ? IMPORTED : ''
    return [hatched, plainFootOf(both, isSite)].filter(Boolean).join(' ')
  }

  /** @param {readonly Both[]} both @param {boolean} isSite */
  function plainFootOf(both, isSite) {
    if (metric() === 'now') return ''
    if (!isSite) return itemParts?.itemFoot(both) ?? ''
    if (metric() === 'visitors') return ONCE_A_DAY
    if (metric() === 'seen') return whyNotAll(both)
    const bots = total(both, 'bots')
    const isSeen = both.some(({ bots }) => typeof bots === 'number')
    return isSeen ? `${number(bots)} more ${bots === 1 ? 'page' : 'pages'} went to bots.` : ''
  }

  /** @returns {Tile} */
  function nowTile() {
    const overview = /** @type {Overview | undefined} */ (now?.overview ?? lastOverview)
    lastOverview = overview
    if (!overview) return { id: 'now', name: 'Now' }
    const { visitors, pageViews, windowSeconds } = overview.figures
    return {
      id: 'now',
      name: 'Now',
      value: number(visitors),
      detail: visitors === 1 ? 'visitor' : 'visitors',
      tip: `The last ${lasting(windowSeconds)}\n${number(pageViews)} page views`,
      isLive: true,
    }
  }

  /** @param {Answer} of @param {readonly Both[]} both @returns {Tile[]} */
  function siteTiles({ span, days, importedBefore }, both) {
    const views = total(both)
    const isDay = days?.length === 1
    const most = (days ?? both).toSorted((a, b) => (b.visitors ?? 0) - (a.visitors ?? 0))[0]
    const { then } = complete(both)
    const mostThen = Math.max(0, ...then.map(({ visitors }) => visitors ?? 0))
    const visitors = most?.visitors ?? 0
    const share = sharesSeen(both)
    const ofShares = pointsOf(share)
    const beforeText = span.before ? shortTitle(span.before, span.by) : ''
    const isPartOfDay = span.by === 'hour'
    const compared = comparedTo(both, { span, importedBefore })
    return [
      nowTile(),
      {
        id: 'views',
        name: 'Page views',
        value: number(views),
        ...compared,
        tip: views > 0 ? `${compared.tip}\n${bestOf(both, span.by)}` : compared.tip,
      },
      {
        id: 'visitors',
        name: isDay ? 'Visitors' : 'Visitors, best day',
        value: number(visitors),
        tip: [
          isDay || !most ? 'Visitors of this day' : `${number(visitors)} ${whenOf(most, span)}`,
          ONCE_A_DAY,
          ...(mostThen > 0 && !isPartOfDay ? [`${number(mostThen)} at most in ${beforeText}`] : []),
        ].join('\n'),
        ...(mostThen > 0 && !isPartOfDay && changeText(visitors / mostThen - 1)),
      },
      ...(byId('main').dataset['sees'] === 'totals'
        ? []
        : [
            {
              id: 'seen',
              name: 'Seen by browsers',
              value: share.now === undefined ? '–' : percent(share.now),
              tip: [
                share.now === undefined ? 'Not known yet' : 'Page views that a browser reported',
                whyNotAll(both),
                ...(share.then === undefined ? [] : [`${percent(share.then)} in ${beforeText}`]),
              ].join('\n'),
              ...ofShares,
            },
          ]),
    ]
  }

  /** @param {readonly Both[]} both @param {Pick<Figures, 'span' | 'importedBefore'>} of */
  function comparedTo(both, { span: { by, before }, importedBefore }) {
    const { now, then } = complete(both)
    const [views, earlier] = [total(now), total(then)]
    const isImported = importedBefore || now.some(({ imported }) => imported)
    if (!before || earlier === 0) return { tip: 'Page views\nNot compared' }
    return {
      ...changeText(views / earlier - 1),
      tip:
        `Page views\n${number(views)} in the complete ${by}s\n` +
        `${number(earlier)} in the same ${by}s of ${shortTitle(before, by)}` +
        (isImported ? '\nPartly imported, not counted here' : ''),
    }
  }

  async function loadItem() {
    const [parts] = await Promise.all([import('./item.js'), styles()])
    itemParts = parts
    showTitle()
    draw()
  }

  /** Whether the site has never had a page view. */
  function isNothing() {
    const isOlder = answer?.firstDay !== null || total(answer.sums?.figures ?? []) > 0
    return answer?.sums !== undefined && answer.sums !== null && !isOlder
  }

  async function showStart() {
    const works = {
      cache: Boolean(now?.live),
      database: Boolean(now?.overview),
      collector: now?.overview?.stale === false,
      dimensions: (answer?.lists.length ?? 0) > 1,
    }
    const [{ emptyState }] = await Promise.all([import('./empty.js'), styles()])
    renew(start, works, () => emptyState(works))
  }

  /** @param {Answer} newAnswer */
  function show(newAnswer) {
    answer = newAnswer
    const { lists, hits, later, span, sums } = answer
    const figures = sums?.figures ?? []
    showTitle()
    draw()
    listed.show({
      lists,
      hits,
      later,
      isCompared: span.before !== null,
      totals: { pageViews: total(figures), bots: total(figures, 'bots') },
      asOf: now?.overview?.asOf ?? '',
    })
  }

  /** @param {Figures} of */
  function showItem(of) {
    ofItem = of
    draw()
  }

  /** @param {Figures} of */
  function showToday(of) {
    ofToday = of
    draw()
  }

  /** @param {any} newNow */
  function showNow(newNow) {
    now = newNow
    draw()
    const pages = (now.live?.pages ?? []).slice(0, NEWEST)
    renew(newest, [pages, location.search], () => pages.map(pageNow))
  }

  return { element, changed, show, showItem, showToday, showNow, heading, lists: listed.element }
}

/** @returns {Tile[]} */
function bones() {
  const names = { views: 'Page views', visitors: 'Visitors, best day', seen: 'Seen by browsers' }
  return Object.entries(names).map(([id, name]) => ({ id, name }))
}

/** Why not each view that the server sent is one of a browser. @param {readonly Both[]} both */
const whyNotAll = (both) =>
  (sharesSeen(both).now ?? 0) > 1 ? WHY_MORE : `${number(total(both, 'unseen'))} ${WHY_UNSEEN}`

/** The period with the most page views. @param {readonly Both[]} both @param {By} by */
function bestOf(both, by) {
  const most = Math.max(...both.map(({ pageViews }) => pageViews ?? 0))
  const best = both.findIndex(({ pageViews }) => pageViews === most)
  return `Best ${by}: ${number(most)}, ${namesOf(both, by)[best]?.title}`
}

/**
 * A change of shares, in points.
 *
 * @param {{ now: number | undefined, then: number | undefined }} shares
 */
function pointsOf({ now, then }) {
  if (now === undefined || then === undefined) return {}
  const points = Math.round(100 * (now - then))
  const text = points === 0 ? 'as before' : `${points > 0 ? '+' : '−'}${Math.abs(points)} pt`
  return { change: Math.abs(points) < 2 ? 0 : points, detail: text }
}

/** @param {{ start: string }} most @param {Figures['span']} span */
function whenOf({ start }, { by }) {
  const time = Date.parse(start)
  return by === 'month'
    ? `on a day of ${at('longMonth', time)}`
    : by === 'week'
      ? `on a day of the week of ${at('day', time)}`
      : `on ${at('longDay', time)}`
}

/** The range that a bar opens. @param {Both} period @param {string} by */
function addressOf({ start, from, to, isComing }, by) {
  if (by === 'hour' || isComing) return undefined
  const first = start.slice(0, 10)
  // Half a day before its end, because a day may have 23 hours.
  const last = new Date(Date.parse(first) + to - from - 43_200_000).toISOString().slice(0, 10)
  return { from: first, to: last }
}

/** @param {{ page: string, pageViews: number }} page */
function pageNow({ page, pageViews }) {
  const link = itemLink({ dimension: 'page', value: page }, inOneLine(label('page', page)))
  link.dataset['tip'] = fullName('page', page)
  return html('li', link, html('span.push', number(pageViews)))
}
