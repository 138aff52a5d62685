/** A process that closes nothing. It does what `argv[2]` names, on the servers it is given. */
import express from 'express'
import { CollisionFreeMap } from '../../src/collision-free-map/index.js'
import { GlobalCounter, ShardedCounter } from '../../src/counters/index.js'
import { ExportQueue } from '../../src/export-queue/index.js'
import { createActivity, createHits, memcached, mysql, WideCache } from '../../src/index.js'
import { Sequence } from '../../src/sequence/index.js'
import { insertRecorded, type Recorded, rowsOf } from './recorded.js'

const name = process.argv[3] ?? ''
const closeTimeoutMs = Number(process.env['CLOSE_TIMEOUT_MS'])
const grid = { name, closeTimeoutMs }

function openRows(collect?: string): WideCache<Recorded> {
  return new WideCache<Recorded>({
    name: `rows.${name}`,
    layerSeconds: 1,
    collect,
    closeTimeoutMs,
    commit: insertRecorded,
  })
}

const DOES: { readonly [what: string]: () => Promise<void> } = {
  /** Leaves connections behind, and timers, but no visits. */
  async uses() {
    const activity = createActivity(grid)
    activity.record({ visitor: 'a', page: '/' })
    const hits = createHits(grid)
    hits.record('a')
    const rows = openRows()
    rows.append({ writer: 1, number: 1 })
    for (const one of [activity, hits, rows]) {
      await one.flush()
      await one.drain({ all: true })
    }
    await activity.stats()
    await activity.live()
    await new ShardedCounter({ name }).increment()
    await new GlobalCounter({ name }).increment()
    await new Sequence({ name }).next()
    const map = new CollisionFreeMap<string, number>({
      name: name,
      combine: (_key, current = 0, updates) => updates.reduce((sum, one) => sum + one, current),
    })
    await map.update([['a', 1]])
    await map.process()
    const queue = new ExportQueue({ name: name, exporter: async () => {} })
    const database = mysql(process.env['DATABASE_URL'] ?? '')
    await database.transaction((tx) => queue.add('a', 1, tx))
    await queue.process()
    await database.transaction(async (tx) => {
      await tx.query('SELECT 1')
      await new Promise((resolve) => setTimeout(resolve, 200).unref())
      await tx.query('SELECT 1')
    })
    await memcached(process.env['MEMCACHE_SERVERS'] ?? '').get(name)
  },

  /** A page view, a hit and rows, which wait for the salt, for their frame, or in the cache. */
  async records() {
    const activity = createActivity(grid)
    const hits = createHits(grid)
    const rows = openRows()
    activity.record({ visitor: 'a', page: '/' })
    hits.record('a', { viewer: 'a' })
    for (const row of rowsOf(1, 0, 100)) rows.append(row)
  },

  /** Collects, as it was told to, and does nothing else. */
  async collects() {
    openRows('* * * * * *')
  },

  /** Collects because it was not told anything, and so ends. */
  async listens() {
    const activity = createActivity(grid)
    const server = express()
      .use(activity.middleware())
      .listen(0, () => server.close())
  },
}

await DOES[process.argv[2] ?? '']?.()
console.log('done')
