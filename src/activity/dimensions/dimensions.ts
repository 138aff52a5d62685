import type { Request } from '../../page-views/express.js'
import { identifier, wrongType, wrongValue } from '../../support/options.js'
import type { Guard } from '../../visitors/guard.js'
import { PAGE } from '../sums.js'
import { fitText } from '../text.js'
import { RESERVED } from './own-measure.js'
import { browser } from './browser.js'
import { campaign } from './campaign.js'
import { country } from './country.js'
import { deviceClass } from './device-class.js'
import { language } from './language.js'
import { referrerHost } from './referrer-host.js'
import { section } from './section.js'
import { source } from './source.js'
import { system } from './system.js'
import { MAX_DIMENSIONS, MAX_VALUE_BYTES, packText } from '../packed-dimensions.js'

/** A short text that tells something about a page view, such as a country; or no value. */
export type Dimension = (req: Request) => string | null | undefined

const ALLOWED =
  `an object of at most ${MAX_DIMENSIONS} functions (req) that return a short text or ` +
  'undefined, such as { country: country("cf-ipcountry") }'

/** The functions that make dimensions, each with the call that is meant. */
const MAKERS = new Map<unknown, string>([
  [browser, 'browser()'],
  [campaign, 'campaign()'],
  [country, "country('cf-ipcountry')"],
  [deviceClass, 'deviceClass()'],
  [language, 'language()'],
  [referrerHost, 'referrerHost()'],
  [section, 'section()'],
  [source, 'source()'],
  [system, 'system()'],
])

/** The names of the dimensions that the option asks for. @throws TypeError, RangeError */
export function checkedDimensions(given: unknown): Readonly<Record<string, Dimension>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType('dimensions', given, ALLOWED)
  }
  const dimensions = Object.entries(given)
  if (dimensions.length > MAX_DIMENSIONS) {
    throw wrongValue('dimensions', `${dimensions.length} dimensions`, ALLOWED)
  }
  for (const [name, dimension] of dimensions) {
    identifier('dimensions', name)
    if (name === PAGE) throw wrongValue('dimensions', name, 'another name: every visit has a page')
    if (RESERVED.includes(name)) {
      throw wrongValue('dimensions', name, 'another name: a measure of its own has this dimension')
    }
    if (typeof dimension !== 'function') throw wrongType(`dimensions.${name}`, dimension, ALLOWED)
    const call = MAKERS.get(dimension)
    if (call) throw wrongValue(`dimensions.${name}`, dimension, `what a call returns: ${call}`)
  }
  return Object.freeze({ ...given })
}

/**
 * Asks for the values of a page view. A function that fails costs its value, never the visit.
 *
 * @returns names and values, packed; `undefined` if there is no value at all
 */
export function valuesOf(
  dimensions: Readonly<Record<string, Dimension>>,
  guard: Guard,
): (req: Request) => string | undefined {
  const asked = Object.entries(dimensions).map(([name, ask]) => ({
    packedName: packText(name),
    ask,
    option: `dimensions.${name}`,
  }))
  return (req) => {
    let packed = ''
    for (const { packedName, ask, option } of asked) {
      const value = guard.optionalText(option, 'the visit has no value there', () => ask(req))
      if (value) packed += packedName + packText(fitText(value, MAX_VALUE_BYTES))
    }
    return packed || undefined
  }
}
