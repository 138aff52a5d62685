/**
 * Names of values, for reading. They come from strangers, so that no value can look like the page's
 * own words: those are set apart, and come last.
 */
import { html } from './dom.js'
import { country } from './format.js'

export const OTHER = '(other)'
const INTERNAL = '(internal)'

/** The page's own words, by dimension, and what they mean. */
/** @type {Readonly<Record<string, readonly [words: string, meaning: string]>>} */
const NO_VALUE = {
  referrer: ['Direct', 'no page led here, or the browser does not say which'],
  campaign: ['No campaign', 'the address named none'],
  country: ['Unknown country', 'the proxy named none'],
}
/** @type {readonly [string, string]} */
const NOTHING = ['No value', 'the site gave none']
/** @type {readonly [string, string]} */
const OTHERS = ['All others', 'values that are not listed one by one']
/** @type {readonly [string, string]} */
const INSIDE = ['Inside the site', 'clicks from one page of the site to another']
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
  if (dimension === 'country') return country(text)
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

/**
 * The name of a value, in its own direction, or the page's own words for it.
 *
 * @param {string} dimension
 * @param {string} value
 */
export function named(dimension, value) {
  const words = ownWords(dimension, value)
  if (words) return html('em', {}, words[0])
  return html('bdi', { title: value }, label(dimension, value))
}
