/**
 * Every public read of an activity, of hits and of the dashboard, with the arguments that a law
 * varies one at a time.
 */
import express from 'express'
import request from 'supertest'
import type { ActivityOptions } from '../../src/activity/options.js'
import type { Cache } from '../../src/cache/cache.js'
import type { HitsOptions } from '../../src/hits/options.js'
import { GlobalCounter } from '../../src/counters/global-counter.js'
import { ShardedCounter } from '../../src/counters/sharded-counter.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { ACTIVITIES, COUNTERS, HITS, NOW } from './past.js'
import type { Site } from './site.js'

/** Arguments of a read. Of an object, the fields are arguments. */
export type Arguments = readonly unknown[]

/** The answer to a question, or the error. */
export type Ask = (read: string, ...args: Arguments) => Promise<unknown>

export interface Reader {
  /** An object of the site on `cache`, with other options than usual. */
  open(site: Site, cache: Cache, options?: object): Ask
  /** Options on which figures depend, each with a value that is not the usual one. */
  readonly options: readonly object[]
  /** The reads without arguments. */
  readonly plain: readonly string[]
  /** Questions of each read: each argument differs between two that are equal otherwise. */
  readonly questions: Readonly<Record<string, readonly Arguments[]>>
}

/** All that a reader is asked, those without arguments first. */
export function allAsked({
  plain,
  questions,
}: Reader): readonly (readonly [read: string, args: Arguments])[] {
  const varied = Object.entries(questions).flatMap(([read, all]) =>
    all.map((args) => [read, args] as const),
  )
  return [...plain.map((read) => [read, []] as const), ...varied]
}

const hour = (hours: number): number => NOW + hours * HOUR_MS
const day = (days: number): number => NOW + days * DAY_MS
const RANGE = { from: hour(-30), to: hour(-3), by: 'hour' }
const OF_DAYS = { from: day(-5), to: day(-1), by: 'day' }
const OF_VALUE = { ...RANGE, dimension: 'page', value: '/a' }
/** A range that begins before values are kept by the hour with another option. */
const LONG = { from: hour(-60), to: hour(-3), n: 2 }

/** `base`, and the same with each of these fields. */
function each<T extends object>(base: T, fields: Partial<Record<string, unknown>>): object[] {
  return [base, ...Object.entries(fields).map(([name, value]) => ({ ...base, [name]: value }))]
}

/** Hours of 1972, whose numbers are those of the days of {@link OF_DAYS}. */
const NUMBERED_AS_DAYS = { from: OF_DAYS.from / 24, to: OF_DAYS.to / 24, by: 'hour' }

const ofHistory: readonly object[] = [
  OF_DAYS,
  NUMBERED_AS_DAYS,
  ...[OF_DAYS, NUMBERED_AS_DAYS].map((range) => ({ ...OF_VALUE, ...range })),
  ...each(RANGE, { from: hour(-29), to: hour(-4), by: 'day' }),
  ...each(OF_VALUE, { from: hour(-29), to: hour(-4), by: 'day', dimension: 'device', value: '/b' }),
  { ...OF_VALUE, dimension: 'gone' },
]

export const activity: Reader = {
  open: (site, cache, options: ActivityOptions = {}) => {
    const object = site.activity({ name: ACTIVITIES[0], ...options }, cache)
    return asks(object as unknown as Methods)
  },
  options: [{ name: ACTIVITIES[1] }, { count: 'seen' }, { windowSeconds: 60 }, { historyDays: 1 }],
  plain: ['stats'],
  questions: {
    history: ofHistory.map((query) => [query]),
    top: [
      ...each({ ...LONG, bots: false }, { from: hour(-40), to: hour(-9), n: 3, bots: true }).map(
        (query) => ['page', query],
      ),
      ['device', LONG],
      ['botPurpose', LONG],
      ['gone', LONG],
    ],
    certificate: [['2026-05-18'], ['2026-05-17']],
  },
}

export const hits: Reader = {
  open: (site, cache, options: Partial<HitsOptions> = {}) => {
    const object = site.hits({ name: HITS[0], ...options }, cache)
    return asks(object as unknown as Methods)
  },
  options: [{ name: HITS[1] }, { count: 'seen' }],
  plain: [],
  questions: {
    count: [['a'], ['b']],
    counts: [[['a', 'b']], [['b', 'c']]],
    top: [
      [2],
      [3],
      [2, { hours: 30 }],
      [3, { hours: 30 }],
      [2, { hours: 70 }],
      ...each({ from: day(-5), to: day(-2) }, { from: day(-4), to: day(-1) }).map((query) => [
        2,
        query,
      ]),
      [3, { from: day(-5), to: day(-2) }],
    ],
    history: [
      ['a'],
      ['b'],
      ['a', { days: 3 }],
      ['a', { days: 4 }],
      ['b', { days: 3 }],
      ...each(RANGE, { from: hour(-29), to: hour(-4), by: 'day' }).map((query) => ['a', query]),
      ['b', RANGE],
    ],
  },
}

const PAGE = { dimension: 'page', value: '/a' }
const ITEM = { hits: HITS[0], value: 'a' }
const DATES = { from: '2026-05-14', to: '2026-05-16' }
const OTHER_DATES = { from: '2026-05-13', to: '2026-05-17' }
const NAMED = [
  ...each({ range: '7d' }, { range: '30d' }),
  ...each({ range: '7d', step: -1 }, { step: -2 }),
  ...each({ range: '7d', against: 'before' }, { against: 'none' }),
]
const OF_PAGE = { ...OTHER_DATES, dimension: 'device', value: '/b' }
const OF_ITEM = { ...OTHER_DATES, hits: HITS[1], value: 'b' }
const OF_LIST = { ...OTHER_DATES, dimension: 'device', n: 3 }
const shown: readonly object[] = [
  ...NAMED,
  ...each(DATES, OTHER_DATES),
  ...each({ ...DATES, ...PAGE }, OF_PAGE),
  ...each({ ...DATES, ...ITEM }, OF_ITEM),
  ...each({ ...DATES, dimension: 'page', n: 2 }, OF_LIST),
  ...each({ ...DATES, hits: HITS[0], n: 2 }, { ...OTHER_DATES, hits: HITS[1], n: 3 }),
]
const history: readonly object[] = [
  ...ofHistory,
  { ...OF_VALUE, dimension: 'bots:page' },
  ...each({ ...OF_DAYS, ...ITEM }, { from: day(-4), to: day(-2), by: 'hour', hits: HITS[1] }),
  { ...OF_DAYS, ...ITEM, value: 'b' },
]
/** Lists of other measures, and of a part of the pages. */
const LISTS = ['bots:page', 'gone', 'under:/a/', 'under:/b/']
const top = [
  ...each({ ...LONG, dimension: 'page' }, { from: hour(-40), to: hour(-9), n: 3 }),
  ...LISTS.map((dimension) => ({ ...LONG, dimension })),
]

/** The paths of the dashboard, whose arguments are parameters. */
export const dashboard: Reader = {
  open(site, cache, options: ActivityOptions = {}) {
    const { count, database } = options
    const activity = site.activity({ name: ACTIVITIES[0], ...options }, cache)
    const app = express()
    app.use(
      activity.dashboard({
        authorize: () => true,
        hits: HITS.map((name) => site.hits({ name, count, ...(database && { database }) }, cache)),
      }),
    )
    return async (path, query = {}) => {
      const { status, body, text } = await request(app)
        .get(path)
        .query(query as object)
      return { status, answer: path.endsWith('.csv') && status === 200 ? text : (body as unknown) }
    }
  },
  options: [{ name: ACTIVITIES[1] }],
  plain: [],
  questions: Object.fromEntries(
    Object.entries({
      '/figures.json': [
        ...NAMED,
        ...each(DATES, OTHER_DATES),
        ...each({ ...DATES, dimension: 'page' }, { ...OTHER_DATES, dimension: 'device' }),
        ...LISTS.map((dimension) => ({ ...DATES, dimension })),
      ],
      '/times.json': [...NAMED, ...each(DATES, OTHER_DATES)],
      '/hits.json': [...NAMED, ...each({ ...DATES, n: 2 }, { ...OTHER_DATES, n: 3 })],
      '/item.json': [
        ...NAMED.map((range) => ({ ...range, ...PAGE })),
        ...each({ ...DATES, ...PAGE }, OF_PAGE),
        ...each({ ...DATES, ...ITEM }, OF_ITEM),
      ],
      '/history.json': history,
      '/history.csv': history,
      '/top.json': [...top, { ...LONG, dimension: 'device' }],
      '/top.csv': [...top, { ...LONG, dimension: 'device' }],
      '/shown.json': shown,
      '/shown.csv': shown,
    }).map(([path, queries]) => [path, queries.map((query) => [query])]),
  ),
}

export const counters: Reader = {
  open(site, cache, { name = COUNTERS[0] }: { name?: string } = {}) {
    const ports = { database: site.database, cache }
    const sharded = site.opens(() => new ShardedCounter({ ...ports, name }))
    const global = site.opens(() => new GlobalCounter({ ...ports, name }))
    return (read) => (read === 'sharded' ? sharded.get() : global.get())
  },
  options: [{ name: COUNTERS[1] }],
  plain: ['sharded', 'global'],
  questions: {},
}

type Methods = Readonly<Record<string, (...args: unknown[]) => unknown>>

function asks(object: Methods): Ask {
  return async (read, ...args) => object[read]!(...args)
}
