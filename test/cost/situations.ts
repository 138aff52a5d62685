/**
 * Situations of a site whose cost has a budget: each class, quiet, busy, and in trouble. All
 * options are the defaults.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { activitySettings } from '../../src/activity/options.js'
import { SiteActivity } from '../../src/activity/site-activity.js'
import { MapOfParts, mapParts } from '../../src/collision-free-map/collision-free-map.js'
import { GlobalCounterIn } from '../../src/counters/global-counter.js'
import { ShardedCounterIn } from '../../src/counters/sharded-counter.js'
import { ExportQueueIn } from '../../src/export-queue/export-queue.js'
import { ItemHits } from '../../src/hits/item-hits.js'
import { hitsSettings } from '../../src/hits/options.js'
import { SequenceIn } from '../../src/sequence/sequence.js'
import { SILENT } from '../../src/support/logger.js'
import { openRows } from '../../src/wide-cache/row-recorder.fixture.js'
import type { Ports } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'
import { type Counts, MeteredSite, type Trouble } from '../simulated-world/metered-site.js'

const MINUTE_MS = 60_000

/** What a process uses: work for each visit, and for each look at its dashboard. */
interface Use {
  readonly visit: () => unknown
  readonly look?: () => unknown
}

/** As often as the dashboard's page asks. */
const LOOK_MS = 5_000
const LOOKS_A_MINUTE = MINUTE_MS / LOOK_MS

/** What a process of a site uses, by the name in the table. */
const USES: Readonly<Record<string, (ports: Ports) => Use>> = {
  'createActivity()': (ports) => ({ visit: visitOf(openActivity(ports)) }),
  'createActivity(), dashboard open': (ports) => {
    const activity = openActivity(ports)
    const handler = activity.dashboard({ authorize: () => true })
    let looks = 0
    return {
      visit: visitOf(activity),
      look: () => {
        const paths = ['/now.json', '/operation.json']
        if (looks++ % LOOKS_A_MINUTE === 0) paths.push('/figures.json?range=30d')
        for (const path of paths) handler(...requestOf(path))
      },
    }
  },
  'createHits()': ({ environment, ...ports }) => {
    const settings = hitsSettings({ name: 'site', logger: SILENT, ...ports })
    const hits = new ItemHits(settings, environment)
    let n = 0
    return {
      visit: () => {
        hits.record(`item ${++n % 10}`, { viewer: n % 100 })
        return hits.count(`item ${n % 10}`)
      },
    }
  },
  'new WideCache()': ({ environment, ...ports }) => {
    const wide = openRows<string>(
      { name: 'site', logger: SILENT, commit: async () => undefined, ...ports },
      environment,
    )
    return { visit: () => wide.append('row') }
  },
  'new Sequence()': ({ environment, ...ports }) => {
    const sequence = new SequenceIn({ name: 'site', logger: SILENT, ...ports }, environment)
    return { visit: () => sequence.next() }
  },
  'new ShardedCounter()': ({ environment, ...ports }) => {
    const counter = new ShardedCounterIn({ name: 'site', ...ports }, environment)
    return { visit: () => Promise.all([counter.increment(), counter.get()]) }
  },
  'new GlobalCounter()': ({ environment, ...ports }) => {
    const counter = new GlobalCounterIn({ name: 'site', ...ports }, environment)
    return { visit: () => Promise.all([counter.increment(), counter.get()]) }
  },
  'new CollisionFreeMap()': ({ environment, database }) => {
    const combine = (_: string, now: number | undefined, updates: Iterable<number>): number =>
      [...updates].reduce((sum, one) => sum + one, now ?? 0)
    const map = new MapOfParts(
      mapParts<string, number>({ name: 'site', database, combine, logger: SILENT }, environment),
    )
    let n = 0
    return { visit: () => map.update([[`key ${++n % 10}`, 1]]) }
  },
  'new ExportQueue()': ({ environment, database }) => {
    const queue = new ExportQueueIn<string, number>(
      { name: 'site', database, exporter: async () => undefined, logger: SILENT },
      environment,
    )
    let n = 0
    return { visit: () => database.transaction((tx) => queue.add(`key ${++n % 10}`, n, tx)) }
  },
}

function openActivity({ environment, ...ports }: Ports): SiteActivity {
  return new SiteActivity(activitySettings({ logger: SILENT, ...ports }), environment)
}

/** A visit whose page shows the figures. */
function visitOf(activity: SiteActivity): () => unknown {
  let n = 0
  return () => {
    activity.record({ visitor: ++n % 100, page: `/${n % 10}` })
    return activity.stats()
  }
}

/** What the dashboard has refused, which costs nothing. */
const refused: string[] = []

function requestOf(url: string): [IncomingMessage, ServerResponse] {
  const req = new IncomingMessage(new Socket())
  Object.assign(req, { url, method: 'GET' })
  const res = new ServerResponse(req)
  const end = (): void => {
    if (res.statusCode >= 400 && res.statusCode < 500) refused.push(url)
  }
  return [req, Object.assign(res, { end })]
}

/** Visits of a busy site, in each process. */
export const VISITS_A_SECOND = 5

interface Situation {
  readonly trouble?: Trouble
  readonly visitsASecond: number
  /** Has a day of old rows to remove, on a slow database. */
  readonly hasOld?: boolean
}

const SITUATIONS: Readonly<Record<string, Situation>> = {
  quiet: { visitsASecond: 0 },
  busy: { visitsASecond: VISITS_A_SECOND },
  'cache away': { trouble: 'cache away', visitsASecond: 1 },
  'SQL away': { trouble: 'SQL away', visitsASecond: 1 },
  locked: { trouble: 'locked', visitsASecond: 1 },
}

/** A situation of one class alone. */
const OLD_ROWS: Situation = { visitsASecond: 0, hasOld: true }

/** Names of all classes and situations. */
export const CLASSES = Object.keys(USES)
export const COLUMNS = Object.keys(SITUATIONS)

/** Processes, in the order in which they start: so the first one collects. */
export const PROCESSES = ['collects', 'other'] as const

export type Budget = Record<string, Record<string, Record<string, Counts>>>

/** Returns what each process asks in {@link COUNTED_MINUTES}: by class, situation and process. */
export async function measuredAll(): Promise<Budget> {
  const budget: Budget = {}
  for (const used of CLASSES) {
    budget[used] = {}
    for (const [name, situation] of Object.entries(SITUATIONS)) {
      budget[used][name] = await measured(used, situation)
    }
  }
  budget['createActivity()']!['old rows'] = await measured('createActivity()', OLD_ROWS)
  if (refused.length > 0) throw new Error(`the dashboard refuses ${refused[0]}`)
  return budget
}

/** Includes what comes once in five minutes. */
export const COUNTED_MINUTES = 5

async function measured(used: string, situation: Situation): Promise<Record<string, Counts>> {
  const { trouble = 'none', visitsASecond, hasOld = false } = situation
  const site = new MeteredSite()
  try {
    for (const name of PROCESSES) {
      start(site, USES[used]!(site.process(name)), visitsASecond)
      await site.count(MINUTE_MS)
    }
    site.trouble = trouble
    if (hasOld) addOldRows(site)
    else await site.count(MINUTE_MS)
    return await site.count((hasOld ? 1 : COUNTED_MINUTES) * MINUTE_MS)
  } finally {
    site.close()
  }
}

/** Each process is used once, and then as often as its site has visits. */
function start({ world }: MeteredSite, { visit, look }: Use, visitsASecond: number): void {
  const each = (ms: number, work: () => unknown): void => {
    world.after(ms, () => each(ms, work))
    // Callers see the trouble. The requests count.
    void Promise.resolve(work()).catch(() => undefined)
  }
  if (look) each(LOOK_MS, look)
  if (visitsASecond > 0) each(1_000 / visitsASecond, visit)
  else void visit()
}

/** Longer than retention may remove in a minute. */
const OLD_SECONDS = 50_000
const SLOW_MS = 100

function addOldRows(site: MeteredSite): void {
  const oldest = Math.floor(EPOCH / 1000) - 3 * 86_400
  site.longestSqlMs = SLOW_MS
  site.run(
    'INSERT INTO activity_seconds (name, second, views) WITH RECURSIVE seconds (second) AS ' +
      `(VALUES (${oldest}) UNION ALL SELECT second + 1 FROM seconds ` +
      `WHERE second < ${oldest + OLD_SECONDS}) SELECT 'activity', second, 1 FROM seconds`,
  )
}
