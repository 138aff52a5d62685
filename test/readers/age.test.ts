/**
 * No answer is older than its kind may be, whatever was asked before. An empty site is asked, and
 * again after visits of today and of days before.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import express from 'express'
import request from 'supertest'
import { overview } from '../../src/activity/overview.js'
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import type { Cache } from '../../src/cache/cache.js'
import type { Handler } from '../../src/page-views/handler.js'
import { WITH_GONE } from '../../src/page-views/measures.js'
import { DAY_MS } from '../../src/support/clock.js'
import { ACTIVITIES, HITS, NOW } from './past.js'
import {
  activity,
  allAsked,
  type Arguments,
  type Ask,
  dashboard,
  hits,
  type Reader,
} from './questions.js'
import { Site } from './site.js'

interface Answers {
  open(site: Site, cache: Cache): Ask
  readonly asked: readonly (readonly [read: string, args: Arguments])[]
  readonly oldestMs: number
}

const MINUTE_MS = 60_000
/** Days before now of the visits that come between two answers. */
const AGES = [0, 1, 4]

/** Default of `statsTtlSeconds`. Reads of hits are as old. */
const READ_MS = 2_000

function reads(reader: Reader): Answers {
  return { open: reader.open, asked: allAsked(reader), oldestMs: READ_MS }
}

/** A path of a handler. */
function page(path: string, oldestMs: number, of: (site: Site, cache: Cache) => Handler): Answers {
  return {
    open(site, cache) {
      const app = express()
      app.use(of(site, cache))
      return async () => {
        let isAnswered = false
        const answer = request(app).get(path).expect(200)
        const answered = answer.then(({ body }) => body).finally(() => (isAnswered = true))
        // Some answers come at the next turn of the clock.
        while (!isAnswered) await site.passes(0)
        return answered
      }
    },
    asked: [[path, []]],
    oldestMs,
  }
}

const [NAME] = ACTIVITIES
const authorize = (): boolean => true
const dashboardOf = (site: Site, cache: Cache): Handler =>
  site.activity({ name: NAME }, cache).dashboard({ authorize })

const ALL: Readonly<Record<string, Answers>> = {
  activity: reads(activity),
  hits: reads(hits),
  dashboard: reads(dashboard),
  'the figures for a widget': page('/', READ_MS, (site, cache) =>
    site.activity({ name: NAME }, cache).router(),
  ),
  'the figures of now': page('/now.json', 5_000, dashboardOf),
  'the state of operation': page('/operation.json', 60_000, dashboardOf),
  'the figures of all sites': page('/sites.json', 5_000, (site, cache) => {
    const sites = ACTIVITIES.map((name) => site.activity({ name }, cache))
    return overview(sites, { authorize })
  }),
  'a count for everyone': page('/a.json', 60_000, (site, cache) =>
    site.hits({ name: HITS[0] }, cache).router({ allow: ['a'] }),
  ),
}

for (const [what, { open, asked, oldestMs }] of Object.entries(ALL)) {
  test(`${what}: an answer is at most ${oldestMs / 1000} s old`, async (t) => {
    const site = new Site(NOW)
    t.after(() => site.close())
    await site.database.migrate()
    const ask = open(site, site.cache())
    const all = async (of: Ask): Promise<Map<string, unknown>> => {
      const answers = new Map<string, unknown>()
      for (const [read, args] of asked) {
        answers.set(`${read}(${JSON.stringify(args)})`, await of(read, ...args))
      }
      return answers
    }
    const before = await all(ask)
    for (const age of AGES) {
      await come(site, site.now - MINUTE_MS - age * DAY_MS)
      await site.passes(oldestMs)
      const [answers, wanted] = [await all(ask), await all(open(site, site.cache()))]
      assert.deepEqual(answers, wanted, `visits of ${age} days ago`)
      if (age === 0) assert.notDeepEqual(wanted, before)
    }
  })
}

/** A visit of each measure and name, and a hit. */
async function come(site: Site, time: number): Promise<void> {
  const dimensions = packDimensions(['device', 'phone'])
  for (const measure of WITH_GONE) {
    for (const name of ACTIVITIES) {
      await site.view(name, measure, [{ time, visitor: Buffer.alloc(12), page: '/a', dimensions }])
    }
    if (measure === 'gone') continue
    for (const name of HITS) await site.hit(name, measure, [{ time, viewer: null, item: 'a' }])
  }
}
