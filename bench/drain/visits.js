/**
 * The visits of a busy site, the same ones for every contender: visit number `i` is always the
 * same, whoever asks. Without types, since plain Node processes share it.
 */
import { createHash } from 'node:crypto'

/** Visits a second of the whole site, and of how many web processes. */
export const RATE = 4_000
export const PROCESSES = 4
export const VISITORS = 10_000
export const PAGES = 500
/** Values of the ready-made dimensions. */
export const REFERRERS = 200
export const CAMPAIGNS = 30
export const COUNTRIES = 60
/** The grid that they wait in. */
export const NAME = 'activity'

/**
 * So many visitors.
 *
 * @param {number} count
 */
export const visitorsOf = (count) =>
  Array.from({ length: count }, (_, i) =>
    createHash('sha256').update(`visitor ${i}`).digest().subarray(0, 12),
  )

const visitors = visitorsOf(VISITORS)
const pages = Array.from(
  { length: PAGES },
  (_, i) => `/forum/threads/${1000 + i * 37}-${'a-title-of-some-length'.slice(0, 4 + (i % 19))}`,
)

/**
 * Visit number `i` of a site that has been visited since `from`, in milliseconds since the Unix
 * epoch.
 *
 * @param {number} from
 * @param {number} i
 * @returns {{ time: number, visitor: Buffer, page: string }}
 */
export function visitAt(from, i) {
  const [who, what] = [mixed(2 * i), mixed(2 * i + 1)]
  // Few pages have most of the views.
  return {
    time: from + Math.floor((i * 1000) / RATE),
    visitor: visitors[who % VISITORS],
    page: pages[Math.floor(PAGES * (what / 2 ** 32) ** 3)],
  }
}

const referrers = Array.from({ length: REFERRERS }, (_, i) => `www.site-${i * 37}.example`)
const campaigns = Array.from({ length: CAMPAIGNS }, (_, i) => `newsletter/email/issue-${i}`)
export const countries = Array.from({ length: COUNTRIES }, (_, i) =>
  String.fromCharCode(65 + (i % 26), 65 + Math.floor(i / 26)),
)
const devices = ['phone', 'desktop', 'tablet']

/**
 * What the ready-made dimensions say of visit number `i`: names, each followed by its value. Half
 * of the visits come from another site, and a tenth by a campaign.
 *
 * @param {number} i
 * @returns {string[]}
 */
export function dimensionsAt(i) {
  const chance = mixed(~i)
  /** A value of its own for each dimension: nothing follows from another one. */
  const few = (values) =>
    values[Math.floor(values.length * (mixed(chance ^ values.length) / 2 ** 32) ** 3)]
  const dimensions = ['country', few(countries), 'device', few(devices)]
  if (chance % 2 === 0) dimensions.unshift('referrer', few(referrers))
  if (chance % 10 === 0) dimensions.unshift('campaign', few(campaigns))
  return dimensions
}

/** A number of 32 bits that looks like chance (the finaliser of MurmurHash3). */
function mixed(i) {
  let hash = i >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
