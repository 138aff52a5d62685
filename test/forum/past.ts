/** Visits of the last days, made up: a new site has none, and its charts would be empty. */
import { commitVisits, MAX_COMMIT_ROWS } from '../../src/activity/commit.js'
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import type { Visit } from '../../src/activity/visit.js'
import type { Database } from '../../src/database/database.js'
import { VISITOR_BYTES } from '../../src/visitors/visitor.js'

const HOUR_MS = 3_600_000
/** The growth over the days, and weekdays from Sunday. */
const GROWTH = 0.6
const WEEK = [0.7, 0.95, 1, 1.05, 1, 0.9, 0.65]

/**
 * A value, and its share of the page views; where the shares leave something, there is no value.
 */
type Shares = readonly (readonly [value: string, share: number])[]

const PAGES: Shares = [
  ['/', 0.3],
  ['/threads/1-my-bicycle-bell-rings-by-itself-above-km-h', 0.24],
  ['/threads/2-sourdough-in-a-cold-kitchen-c-all-winter', 0.16],
  ['/threads/3-what-is-the-smallest-thing-you-have-mended', 0.12],
  ['/threads/5-counting-birds-at-the-feeder-each-of-them-once', 0.09],
  ['/threads/6-the-kettle-that-sings-a-perfect-fifth', 0.05],
  ['/threads/4-lathe-advice-belt-drive-or-gears-for-a-small-shed', 0.04],
]
const DIMENSIONS: Readonly<Record<string, Shares>> = {
  referrer: [
    ['search.example', 0.22],
    ['news.example', 0.11],
    ['social.example', 0.07],
    ['bicycles.example', 0.03],
  ],
  campaign: [
    ['newsletter/email/november', 0.09],
    ['social/post/workbench', 0.06],
  ],
  country: [
    ['DE', 0.31],
    ['US', 0.19],
    ['NL', 0.13],
    ['FR', 0.11],
    ['BR', 0.08],
    ['JP', 0.06],
    ['NG', 0.05],
    ['IN', 0.04],
  ],
  device: [
    ['phone', 0.52],
    ['desktop', 0.4],
    ['tablet', 0.08],
  ],
}

export interface Past {
  /** Name of the activity. */
  readonly name: string
  readonly days: number
  /** Page views of a usual hour on a usual day. */
  readonly usual: number
}

/** The dimensions of these visits, for a site whose own visits have none. */
export const PAST_DIMENSIONS = Object.fromEntries(
  Object.keys(DIMENSIONS).map((name) => [name, () => undefined]),
)

/** Writes them to a database in which no process counts under this name yet. */
export async function writePast(
  database: Database,
  { name, days, usual }: Past,
): Promise<readonly Visit[]> {
  await database.migrate()
  const now = Date.now()
  const visits = visitsUntil(now, days, usual)
  for (let from = 0; from < visits.length; from += MAX_COMMIT_ROWS) {
    const some = visits.slice(from, from + MAX_COMMIT_ROWS)
    await database.transaction((tx) => commitVisits(some, tx, { now, name }))
  }
  return visits
}

/** Returns visits up to the hour of `now`, in the order of their times. */
function visitsUntil(now: number, days: number, usual: number): Visit[] {
  const visits: Visit[] = []
  const thisHour = Math.floor(now / HOUR_MS)
  for (let hour = thisHour - 24 * days; hour < thisHour; hour++) {
    const share = shareOf(hour, thisHour, days)
    const views = Math.round(usual * share * (0.85 + 0.3 * Math.random()))
    for (let i = 0; i < views; i++) {
      visits.push({
        time: hour * HOUR_MS + Math.floor((HOUR_MS * i) / views),
        visitor: visitorOf(hour, views),
        page: one(PAGES) ?? '/',
        dimensions: packDimensions(
          Object.entries(DIMENSIONS).flatMap(([dimension, shares]) => {
            const value = one(shares)
            return value === undefined ? [] : [dimension, value]
          }),
        ),
      })
    }
  }
  return visits
}

/** Returns how busy an hour is, relative to the usual one: evenings are, nights are not. */
function shareOf(hour: number, thisHour: number, days: number): number {
  const date = new Date(hour * HOUR_MS)
  const daily = 0.6 - 0.45 * Math.cos((2 * Math.PI * (date.getUTCHours() - 4)) / 24)
  const growth = 1 - (GROWTH * (thisHour - hour)) / (24 * days)
  return daily * growth * (WEEK[date.getUTCDay()] ?? 1)
}

/** One of the visitors of this hour, who may be those of other hours of the day. */
function visitorOf(hour: number, views: number): Buffer {
  const visitor = Buffer.alloc(VISITOR_BYTES)
  visitor.writeUInt32BE(Math.floor(hour / 24))
  visitor.writeUInt32BE(Math.floor((views / 5) * ((hour % 24) / 6 + Math.random())), 4)
  return visitor
}

function one(shares: Shares): string | undefined {
  let rest = Math.random()
  return shares.find(([, share]) => (rest -= share) < 0)?.[0]
}
