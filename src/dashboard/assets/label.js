/**
 * Names of values, for reading. They come from strangers, so that no value can look like the page's
 * own words: those are set apart, and come last.
 */
import { html } from './dom.js'
import { nameOfCode } from './format.js'

export const OTHER = '(other)'
const INTERNAL = '(internal)'

/** @type {readonly [string, string]} */
const DIRECT = ['Direct', 'No page led here, or the browser does not say which.']
/** @type {readonly [string, string]} */
const UNKNOWN = ['Unknown', 'The browser does not say it, or few use it.']
/** The page's own words, by dimension, and what they mean. */
/** @type {Readonly<Record<string, readonly [words: string, meaning: string]>>} */
const NO_VALUE = {
  referrer: DIRECT,
  source: DIRECT,
  section: ['In no section', 'Pages such as / and /about.'],
  bot: ['No name', 'These bots do not say what they are.'],
  campaign: ['No campaign', 'The address named none.'],
  country: ['Unknown country', 'The proxy named none.'],
  browser: UNKNOWN,
  system: UNKNOWN,
  language: UNKNOWN,
}
/** @type {readonly [string, string]} */
const NOTHING = ['No value', 'The site gave none.']
/** @type {readonly [string, string]} */
const OTHERS = ['All others', 'Values that are not listed one by one.']
/** @type {readonly [string, string]} */
const INSIDE = ['Inside the site', 'Clicks from one page of the site to another.']
const OWN = new Set(
  [...Object.values(NO_VALUE), NOTHING, OTHERS, INSIDE].map(([words]) => words.toLowerCase()),
)

/**
 * The page's own words for what is no value of its own; `undefined`: it is one.
 *
 * @param {string} dimension empty: an item of hits, which is always one
 * @param {string | null} value
 */
export function ownWords(dimension, value) {
  if (dimension === '') return undefined
  if (value === null) return NO_VALUE[dimension] ?? NOTHING
  if (value === OTHER) return OTHERS
  return dimension === 'referrer' && value === INTERNAL ? INSIDE : undefined
}

/**
 * A value as text. One that does not begin as names do, or reads like the page's own words, is in
 * quotation marks.
 *
 * @param {string} dimension
 * @param {string} value
 */
export function label(dimension, value) {
  const text = readable(dimension, value)
  return /^[\p{L}\p{N}/]/u.test(text) && !OWN.has(text.toLowerCase()) ? text : `“${text}”`
}

/**
 * @param {string} dimension
 * @param {string} value
 */
function readable(dimension, value) {
  if (dimension === 'page') return visible(decoded(value))
  const text = visible(value)
  if (dimension === 'country') return nameOfCode('region', text)
  if (dimension === 'language') return nameOfCode('language', text)
  return dimension === 'referrer' ? text.replace(/^www\./, '') : text
}

/** Encodes what cannot be seen, such as marks that turn a text around. @param {string} text */
const visible = (text) => text.replace(/(?! )[\p{C}\p{Z}]/gu, encodeURIComponent)

/** `/日本語` for `/%E6%97%A5…`. @param {string} path */
function decoded(path) {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

const LONG = 16
const TAIL = 14
const RIGHT_TO_LEFT = /[\u0590-\u08ff]/

/**
 * A text in one line, cut before its last word; one from right to left is cut at its end.
 *
 * @param {string} text
 */
export function inOneLine(text) {
  const isCut = text.length > LONG && !RIGHT_TO_LEFT.test(text)
  const tail = isCut ? (/[-/ .].*$/.exec(text.slice(-TAIL))?.[0] ?? text.slice(-TAIL / 2)) : ''
  const head = tail ? text.slice(0, -tail.length) : text
  const parts = tail ? [html('span.tail', tail)] : []
  return html('bdi.name', { dir: 'auto' }, html('span', head), ...parts)
}

/**
 * The name of a value, in its own direction, or the page's own words for it.
 *
 * @param {string} dimension
 * @param {string} value
 */
export function named(dimension, value) {
  const words = ownWords(dimension, value)
  return words ? html('em', words[0]) : inOneLine(label(dimension, value))
}

/**
 * What a tooltip says of a value: its name, as the list has it, and as it was sent.
 *
 * @param {string} dimension
 * @param {string} value
 */
export function fullName(dimension, value) {
  const text = label(dimension, value)
  return text === value || dimension !== 'page' ? text : `${text}\n${visible(value)}`
}
