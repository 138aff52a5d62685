/**
 * `ShardedCounter` beside `UPDATE … SET n = n + 1`: 20 connections each. With coalescing the
 * callers are those of one counter, as in one process; without, each has a counter of its own, so
 * that nobody shares a transaction.
 */
import { type Database, memory } from '../../src/index.js'
import { ShardedCounter } from '../../src/counters/index.js'
import type { Bench } from '../harness/part.js'
import { start as startCoalesced } from '../peers/coalesced-row.js'
import { start } from '../peers/update-one-row.js'
import { adding, CONNECTIONS, type Contender, type Race } from './race.js'
import { more } from '../harness/samples.js'

export const BASELINE = 'single-row UPDATE'
export const COALESCING = 'ShardedCounter, 20 shards'
export const COALESCED = 'one row, coalesced in ten lines'
export const UNSHARED = {
  one: '1 shard, without coalescing',
  twenty: '20 shards, without coalescing',
}
/** Added to the names of those on a server without a binary log. */
export const UNLOGGED = ', no binary log'

/** `suffix` tells its contenders from those of another such race. */
export async function shardedCounter(
  bench: Bench,
  database: Database,
  mysqlUrl: string,
  suffix: '' | typeof UNLOGGED = '',
): Promise<Race> {
  const baseline = await start({ mysqlUrl, connections: CONNECTIONS })
  const coalesced = await startCoalesced({ mysqlUrl, connections: 1, table: 'bench_coalesced' })
  const counter = new ShardedCounter({ name: 'shared', database, cache: 'memory:' })
  bench.after(() => Promise.all([baseline.close(), coalesced.close(), counter.close()]))
  return {
    name: `ShardedCounter${suffix}`,
    metric: more('increments/s'),
    contenders: [
      adding(BASELINE + suffix, () => baseline.increment(), baseline.total),
      adding(
        COALESCING + suffix,
        () => counter.increment(),
        () => counter.get({ exact: true }),
      ),
      adding(COALESCED + suffix, () => coalesced.increment(), coalesced.total),
      unshared(UNSHARED.twenty + suffix, 'twenty', 20, database),
      unshared(UNSHARED.one + suffix, 'one', 1, database),
    ],
  }
}

function unshared(label: string, name: string, shards: number, database: Database): Contender {
  const cache = memory()
  const counters: ShardedCounter[] = []
  return adding(
    label,
    (caller) => counters[caller]!.increment(),
    () => counters[0]!.get({ exact: true }),
    async (callers) => {
      while (counters.length < callers) {
        const counter = new ShardedCounter({ name, database, cache, shards })
        counters.push(counter)
        // The first increment of each also enters it among the writers.
        await counter.increment()
      }
    },
  )
}
