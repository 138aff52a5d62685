/** What the page shows of one value, beside its history: its name, and its tiles. */
import { against, go, item, NO_ITEM } from './choice.js'
import { html } from './dom.js'
import { at, number, percent } from './format.js'
import { label, ownWords } from './label.js'
import { isOfBots, kindOf, valuesOf } from './lists.js'
import { total } from './periods.js'

/** @typedef {import('./choice.js').Parameters} Parameters */
/** @typedef {import('./periods.js').Figures} Figures */
/** @typedef {import('./periods.js').Both} Both */
/** @typedef {import('./tiles.js').Tile} Tile */

/** The name of the value, which can be closed. @param {Parameters} of @param {string} value */
export function chip(of, value) {
  const { dimension = '' } = of
  const kind = valuesOf(dimension)
  const words = ownWords(kind, value)?.[0]
  const close = html(
    'button',
    { type: 'button', class: 'icon', id: 'close', 'aria-label': 'Close' },
    '×',
  )
  close.addEventListener('click', () => go(NO_ITEM))
  return html(
    'span.chip',
    { id: 'item' },
    html('span.quiet', kindOf(of)),
    ' ',
    html('bdi', { title: value }, words ?? label(kind, value)),
    close,
  )
}

/**
 * The address of a page of the site, or `undefined`. A value is any text, and browsers leave tabs
 * and line breaks out of an address: then `/\t/` is the start of another site's.
 *
 * @param {string} value
 */
export function pageAddress(value) {
  if (!value.startsWith('/') || !URL.canParse(value, location.origin)) return undefined
  const { origin, href } = new URL(value, location.origin)
  return origin === location.origin ? href : undefined
}

/**
 * @param {Figures} site
 * @param {readonly Both[]} both
 * @param {Partial<Tile>} compared
 * @param {{ seen?: number } | undefined} listed the figures of the value in its list
 * @returns {Tile[]}
 */
export function itemTiles({ sums, span }, both, compared, listed) {
  const views = total(both)
  const ofBots = isOfBots(item()['dimension'])
  const all = total(sums?.figures ?? [], ofBots ? 'bots' : 'pageViews')
  const best = both.toSorted((a, b) => (b.pageViews ?? 0) - (a.pageViews ?? 0))[0]
  const isUnknown = unknownOf(both).length > 0
  const isHits = item()['hits'] !== undefined
  const ofWhole = {
    id: 'share',
    name: `Share of ${ofBots ? 'all bots' : 'the site'}`,
    value: all ? percent(views / all) : '–',
  }
  return [
    ...(isHits ? [] : [ofWhole]),
    {
      id: 'views',
      name: isHits ? 'Hits' : ofBots ? 'Pages sent' : 'Page views',
      value: `${isUnknown ? '≥ ' : ''}${number(views)}`,
      ...(against() !== 'whole' && compared),
    },
    {
      id: 'best',
      name: `Best ${span.by}`,
      value: number(best?.pageViews ?? 0),
      ...(best && { detail: at(span.by === 'hour' ? 'time' : 'day', best.from) }),
    },
    ...(listed?.seen === undefined
      ? []
      : [{ id: 'seen', name: 'Seen by browsers', value: percent(listed.seen) }]),
  ]
}

/** A sentence below the chart. @param {readonly Both[]} both */
export function itemFoot(both) {
  const unknown = unknownOf(both).length
  const of = both.filter(({ isComing }) => !isComing).length
  if (unknown > 0) {
    return (
      `Not known for ${number(unknown)} of ${number(of)} bars: there the value is among all ` +
      'others, is not kept any more, or there were no figures yet.'
    )
  }
  return isOfBots(item()['dimension'])
    ? 'Bots are no people: these pages are in no other figure.'
    : 'Page views only: visitors, and values within a value, are not kept, so that nobody can be ' +
        'followed.'
}

/** @param {readonly Both[]} both */
const unknownOf = (both) =>
  both.filter(({ pageViews, isComing }) => pageViews === null && !isComing)
