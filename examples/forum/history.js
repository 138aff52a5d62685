// Three months of invented history, for a demo whose charts are not empty: npm start -- --history.
// It writes rows as a collector would have, so it imports what the package does not export. No part
// of what a site needs.
import { commitVisits, MAX_COMMIT_ROWS } from '../../dist/activity/commit.js'
import { writeNote } from '../../dist/activity/notes.js'
import { packDimensions } from '../../dist/activity/packed-dimensions.js'
import { sqlite } from '../../dist/database/sqlite/sqlite.js'
import { addHits } from '../../dist/hits/history.js'
import { measureName } from '../../dist/page-views/measures.js'
import { UTC } from '../../dist/support/calendar.js'
import { VISITOR_BYTES } from '../../dist/visitors/visitor.js'

const HOUR_MS = 3_600_000
const DAYS = 92
/** Page views of a usual day. */
const USUAL = 620
/** Days before today on which many came from one site to one page, and how many came. */
const SPIKE = 23
const SPIKE_VIEWS = 2_400
/** Visits to the same thread on a usual day. */
const BOTS = 0.42
const SEEN = 0.73
/** From Sunday, and the hours of a day (UTC). */
const WEEK = [0.78, 1.07, 1.1, 1.09, 1.12, 0.98, 0.76]
const HOURS = [
  1, 0.6, 0.4, 0.3, 0.3, 0.5, 1.4, 2.6, 3.9, 4.6, 4.8, 4.7, 4.9, 4.6, 4.8, 5.1, 5.6, 6.3, 7.2, 8.4,
  8.8, 7.4, 4.6, 2.2,
]
const ALL_HOURS = HOURS.reduce((sum, share) => sum + share)

/** Values and their shares; where these leave something, there is no value. */
const DIMENSIONS = {
  referrer: [
    ['search.example', 0.22],
    ['(internal)', 0.2],
    ['news.example', 0.08],
    ['social.example', 0.07],
    ['bicycles.example', 0.04],
    ['bread.example', 0.03],
    ['old-radio-and-barometer-collectors.example', 0.02],
    ['links.example', 0.015],
    ['mail.example', 0.01],
  ],
  campaign: [
    ['newsletter/email/november', 0.05],
    ['newsletter/email/october', 0.03],
    ['social/post/workbench', 0.03],
  ],
  country: [
    ['DE', 0.27],
    ['US', 0.16],
    ['NL', 0.12],
    ['FR', 0.09],
    ['AT', 0.07],
    ['BR', 0.06],
    ['CH', 0.05],
    ['JP', 0.05],
    ['NG', 0.04],
    ['IN', 0.03],
    ['PL', 0.02],
  ],
  device: [
    ['phone', 0.53],
    ['desktop', 0.38],
    ['tablet', 0.05],
  ],
  browser: [
    ['Chrome', 0.52],
    ['Safari', 0.24],
    ['Firefox', 0.11],
    ['Microsoft Edge', 0.06],
    ['Samsung Internet for Android', 0.03],
    ['Opera', 0.02],
  ],
  system: [
    ['Android', 0.34],
    ['Windows', 0.25],
    ['iOS', 0.21],
    ['macOS', 0.11],
    ['Linux', 0.06],
  ],
  language: [
    ['de', 0.38],
    ['en', 0.29],
    ['nl', 0.11],
    ['fr', 0.1],
    ['pt', 0.05],
    ['ja', 0.04],
  ],
  source: [
    ['search', 0.22],
    ['internal', 0.2],
    ['other', 0.18],
    ['social', 0.07],
    ['mail', 0.06],
    ['assistants', 0.03],
  ],
}
/** Bots, what they read for, and their shares. */
const CRAWLERS = [
  ['GPTBot training', 0.32],
  ['Googlebot search', 0.24],
  ['ClaudeBot training', 0.15],
  ['bingbot search', 0.11],
  ['ChatGPT-User assistant', 0.08],
  ['UptimeRobot monitoring', 0.1],
]
/** People who went to a page that is not there, as a share of those who read one. */
const MISSED = 0.015
/** Where they went, with the host whose link leads there, and the shares. */
const MISSING = [
  ['/forum/viewtopic.php ← links.example', 0.34],
  ['/threads/sharpening ← search.example', 0.22],
  ['/threads/brade ← bread.example', 0.16],
  ['/about', 0.12],
  ['/rss', 0.09],
  ['/members ← search.example', 0.07],
]

/**
 * Writes it to a database in which no process counts yet.
 *
 * @param {{ file: string, activity: string, hits: string, threads: readonly string[] }} of names of
 *   the activity and of its hits, and the ids of threads
 */
export async function writeHistory({ file, activity, hits, threads }) {
  const database = sqlite(file)
  const random = randomFrom(7)
  const now = Date.now()
  try {
    await database.migrate()
    const visits = visitsUntil(now, threads, random)
    for (let from = 0; from < visits.length; from += MAX_COMMIT_ROWS) {
      const some = visits.slice(from, from + MAX_COMMIT_ROWS)
      await database.transaction((tx) => commitVisits(some, tx, { now, name: activity }))
    }
    for (const [measure, share] of [
      ['seen', SEEN],
      ['bots', BOTS],
      ['gone', MISSED],
    ]) {
      const name = measureName(activity, measure)
      const some = visits.flatMap((visit) => {
        if (random() >= share) return []
        if (measure === 'gone') return toMissing(visit, random)
        return measure === 'bots' ? ofBot(visit, random) : visit
      })
      await database.transaction((tx) => commitVisits(some, tx, { now, name }))
    }
    const read = visits.flatMap(({ page, time }) =>
      page.startsWith('/threads/') ? [{ item: page.slice('/threads/'.length), at: time }] : [],
    )
    await database.transaction((tx) => addHits(tx, hits, read, UTC))
    const spike = Math.floor(now / (24 * HOUR_MS)) - SPIKE
    await writeNote(database, activity, spike, 'In the news')
  } finally {
    await database.close()
  }
}

/** Visits up to the hour of `now`, in the order of their times. */
function visitsUntil(now, threads, random) {
  const visits = []
  const thisHour = Math.floor(now / HOUR_MS)
  const spikeDay = Math.floor(thisHour / 24) - SPIKE
  for (let hour = 24 * (Math.floor(thisHour / 24) - DAYS); hour < thisHour; hour++) {
    const date = new Date(hour * HOUR_MS)
    const share = HOURS[date.getUTCHours()] / ALL_HOURS
    const growth = 1 - (thisHour - hour) / (24 * DAYS * 2.5)
    const usual = USUAL * share * growth * WEEK[date.getUTCDay()] * (0.9 + 0.2 * random())
    const isSpike = Math.floor(hour / 24) === spikeDay
    const views = Math.round(usual + (isSpike ? SPIKE_VIEWS * share : 0))
    for (let i = 0; i < views; i++) {
      const isOfSpike = i >= usual
      const page = isOfSpike ? `/threads/${threads[0]}` : pageOf(threads, random)
      visits.push({
        time: hour * HOUR_MS + Math.floor((HOUR_MS * i) / views),
        visitor: visitorOf(hour, Math.floor(views * 0.4 * random()), random),
        page,
        dimensions: packDimensions([
          ...(page === '/' ? [] : ['section', '/threads/']),
          ...Object.entries(DIMENSIONS).flatMap(([dimension, values]) => {
            const isNews = isOfSpike && dimension === 'referrer'
            const value = isNews ? 'news.example' : oneOf(values, random)
            return value === undefined ? [] : [dimension, value]
          }),
        ]),
      })
    }
  }
  return visits
}

/** The same read by a bot. */
function ofBot(visit, random) {
  const [bot, botPurpose] = (oneOf(CRAWLERS, random) ?? CRAWLERS[0][0]).split(' ')
  const values = packDimensions(['bot', bot, 'botPurpose', botPurpose])
  return { ...visit, visitor: null, dimensions: visit.dimensions + values }
}

/** A click at that time on a link to a page that is not there. */
function toMissing({ time }, random) {
  const page = oneOf(MISSING, random) ?? MISSING[0][0]
  return { time, visitor: null, page, dimensions: packDimensions([]) }
}

/** The front page, or a thread: the first ones more often. */
function pageOf(threads, random) {
  if (random() < 0.3) return '/'
  return `/threads/${threads[Math.floor(threads.length * random() ** 1.6)]}`
}

/** One of the visitors of this hour, who may be one of the hour before. */
function visitorOf(hour, number, random) {
  const visitor = Buffer.alloc(VISITOR_BYTES)
  visitor.writeUInt32BE(Math.floor(hour / 24))
  visitor.writeUInt32BE(1_000 * (hour - (random() < 0.3 ? 1 : 0)) + number, 4)
  return visitor
}

function oneOf(values, random) {
  let rest = random()
  return values.find(([, share]) => (rest -= share) < 0)?.[0]
}

/** The same numbers in each run. */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
