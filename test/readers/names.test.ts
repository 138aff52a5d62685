/**
 * Whatever others do in one database under other names, an object answers as in a database of its
 * own. Activities and hits are asked in `reads.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, type Database, memory, sqlite } from '../../src/index.js'
import { CollisionFreeMap } from '../../src/collision-free-map/index.js'
import { GlobalCounter, ShardedCounter } from '../../src/counters/index.js'
import { ExportQueue } from '../../src/export-queue/index.js'
import { Sequence } from '../../src/sequence/index.js'
import { SILENT } from '../../src/support/logger.js'
import { wrapped } from '../servers/wrapped.js'

interface Ports {
  readonly database: Database
  readonly cache: Cache
}

type Answers = (name: string, ports: Ports, times: number) => Promise<unknown>

/** Metrics without what depends on how quick the machine is. */
function withoutTimes(metrics: string): string {
  return metrics.replace(/^(wide_cache_process_\w*seconds\w*).*$/gm, '$1')
}

/** A map that has a value, a queued update and as many parked ones as it is told. */
const ofMap: Answers = async (name, { database }, times) => {
  const map = new CollisionFreeMap<string, number>({
    database,
    name,
    every: false,
    logger: SILENT,
    combine(_key, sum = 0, updates) {
      if (updates.includes(-1)) throw new Error('refused')
      return updates.reduce((a, b) => a + b, sum)
    },
  })
  for (let time = 1; time <= times; time++) {
    await map.update([
      ['a', 1],
      [`refused ${time}`, -1],
    ])
    await map.process()
    await map.update([['a', 10]])
  }
  const answers = [
    await map.get('a'),
    await map.get('b'),
    await map.parked(),
    withoutTimes(await map.metrics()),
  ]
  await map.close()
  return answers
}

/** An export queue that has exported, that waits, and that has failed. */
const ofQueue: Answers = async (name, { database }, times) => {
  let fails = false
  const came: unknown[] = []
  const queue = new ExportQueue<string, number>({
    database,
    name,
    every: false,
    logger: SILENT,
    exporter(entries) {
      if (fails) throw new Error('refused')
      came.push(...entries.map(({ key, value, version }) => [key, value, version]))
    },
  })
  await queue.migrate()
  const add = (key: string) => database.transaction((tx) => queue.add(key, times, tx))
  for (let time = 1; time <= times; time++) {
    await add('a')
    await queue.process()
  }
  for (let time = 1; time <= times; time++) await add(`refused ${time}`)
  fails = true
  await queue.process().catch(() => undefined)
  await add('a')
  const answers = [came, withoutTimes(await queue.metrics())]
  await queue.close()
  return answers
}

const ofShardedCounter: Answers = async (name, ports, times) => {
  const counter = new ShardedCounter({ ...ports, name })
  for (let time = 1; time <= times; time++) await counter.increment(time)
  const answers = [await counter.get(), await counter.get({ exact: true })]
  await counter.close()
  return answers
}

const ofGlobalCounter: Answers = async (name, ports, times) => {
  const counter = new GlobalCounter({ ...ports, name })
  const answers: unknown[] = []
  for (let time = 1; time <= times; time++) answers.push(await counter.increment(time))
  answers.push(await counter.get())
  await counter.close()
  return answers
}

const ofSequence: Answers = async (name, ports, times) => {
  const sequence = new Sequence({ ...ports, name, logger: SILENT })
  const answers: unknown[] = []
  for (let time = 1; time <= times; time++) answers.push(await sequence.next())
  await sequence.close()
  return answers
}

const CACHES: readonly Partial<Cache>[] = [
  {},
  { scope: 'shared', neverGoesBack: true },
  { scope: 'shared', neverGoesBack: false },
]

for (const [what, answersOf] of Object.entries({
  'a map': ofMap,
  'an export queue': ofQueue,
  'a sharded counter': ofShardedCounter,
  'a global counter': ofGlobalCounter,
  'a sequence': ofSequence,
})) {
  test(`${what} answers as it would alone, whatever others have done`, async () => {
    for (const kind of CACHES) {
      const ports = () => ({ database: sqlite(':memory:'), cache: wrapped(memory(), kind) })
      const [alone, together] = [ports(), ports()]
      const wanted = await answersOf('own', alone, 2)
      for (const other of ['ow', 'own2', 'o', 'a']) await answersOf(other, together, 3)
      assert.deepEqual(await answersOf('own', together, 2), wanted)
      for (const { database, cache } of [alone, together]) {
        await Promise.all([database.close(), cache.close()])
      }
    }
  })
}
