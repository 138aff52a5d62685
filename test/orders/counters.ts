/** Counters for the laws of orders. */
import { GlobalCounter, GlobalCounterIn } from '../../src/counters/global-counter.js'
import { ShardedCounter, ShardedCounterIn } from '../../src/counters/sharded-counter.js'
import type { Ports } from '../simulated-world/explorer.js'

/** Opens a sharded counter on an actor's ports. It has one row, so that all increments meet. */
export function openShardedCounter(
  { cache, database, environment }: Ports,
  options: { shards?: number; cacheSeconds?: number } = {},
): ShardedCounter {
  return new ShardedCounterIn({ name: 'law', cache, database, shards: 1, ...options }, environment)
}

/** Opens a global counter on an actor's ports. */
export function openGlobalCounter(
  { cache, database, environment }: Ports,
  options: { shards?: number; chanceToWrite?: number } = {},
): GlobalCounter {
  return new GlobalCounterIn({ name: 'law', cache, database, shards: 1, ...options }, environment)
}
