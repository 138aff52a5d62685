/** Counters, a sequence and a map on one database: what each does a second. */
import { CollisionFreeMap } from '../../src/collision-free-map/index.js'
import { GlobalCounter, ShardedCounter } from '../../src/counters/index.js'
import type { Database } from '../../src/database/database.js'
import { memcached } from '../../src/index.js'
import { Sequence } from '../../src/sequence/index.js'
import { sum } from '../harness/statistics.js'
import { adding, type Contender, numbering, queueing } from '../relatives/race.js'
import type { Server } from './servers.js'

/** Names of the rows of the tables, in their order. */
export const CALLS = {
  sharded: 'ShardedCounter, increments/s',
  global: 'GlobalCounter, numbers/s',
  sequence: 'Sequence, numbers/s',
  nextval: '`nextval` of a sequence in SQL, numbers/s',
  map: 'CollisionFreeMap, updates of 10 keys/s',
} as const

const KEYS_AN_UPDATE = 10
const KEYS = 2_000

export type Calls = Awaited<ReturnType<typeof callsOn>>

export async function callsOn(
  database: Database,
  memcachedAddress: string,
  nextval: Server['nextval'],
) {
  const cache = memcached(memcachedAddress)
  const sharded = new ShardedCounter({ name: 'calls', database, cache })
  const global = new GlobalCounter({ name: 'calls', database, cache })
  const sequence = new Sequence({ name: 'calls', database, cache })
  const map = new CollisionFreeMap<string, number>({
    name: 'calls',
    database,
    every: false,
    combine: (_, current = 0, updates) => updates.reduce((a, b) => a + b, current),
  })
  const all = [sharded, global, sequence, map]
  for (const one of all) await one.migrate()
  await database.query('CREATE SEQUENCE bench_sequence')
  const next = `SELECT ${nextval('bench_sequence')} AS n`
  return {
    contenders: [
      adding(
        CALLS.sharded,
        () => sharded.increment(),
        () => sharded.get({ exact: true }),
      ),
      numbering(CALLS.global, () => global.increment()),
      numbering(CALLS.sequence, () => sequence.next()),
      numbering(CALLS.nextval, async () => Number((await database.query(next)).rows[0]!['n'])),
      updating(map, database),
    ],
    async close(): Promise<void> {
      for (const one of all) await one.close()
      await cache.close()
    },
  }
}

/** In its time is the processing of the last update. */
function updating(map: CollisionFreeMap<string, number>, database: Database): Contender {
  const total = async (): Promise<number> => {
    const { rows } = await database.query('SELECT map_value FROM collision_free_map_values')
    return sum(rows.map((row) => Number(row['map_value'])))
  }
  return {
    name: CALLS.map,
    async run(callers, ms) {
      const before = await total()
      let updates = 0
      const update = (): Promise<void> => {
        updates++
        return map.update(someKeys())
      }
      const process = (): Promise<number> => map.process()
      const done = await queueing(callers, ms, update, process, () => updates)
      const added = (await total()) - before
      if (added !== updates * KEYS_AN_UPDATE) {
        throw new Error(`${CALLS.map}: ${updates} updates have added ${added}`)
      }
      return done
    },
  }
}

function someKeys(): [key: string, value: number][] {
  const first = Math.floor(Math.random() * KEYS)
  return Array.from({ length: KEYS_AN_UPDATE }, (_, i) => [`key ${(first + i * 7) % KEYS}`, 1])
}
