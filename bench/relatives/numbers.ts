/**
 * `GlobalCounter` and `Sequence`, which give each caller a number of its own, beside what SQL and
 * memcached do by themselves.
 */
import { type Database, memcached } from '../../src/index.js'
import { GlobalCounter } from '../../src/counters/index.js'
import { Sequence } from '../../src/sequence/index.js'
import type { Bench } from '../harness/part.js'
import { start as startIncrement } from '../peers/bare-increment.js'
import { start as startLastInsertId } from '../peers/last-insert-id.js'
import { numbering, type Race } from './race.js'
import { more } from '../harness/samples.js'

export const SEQUENCE = 'Sequence, block 100'
export const LARGER_SEQUENCE = 'Sequence, block 1,000'
export const LAST_INSERT_ID = 'UPDATE … LAST_INSERT_ID(n + 1)'

const CONNECTIONS = 20
const NUMBERS = more('numbers/s')

interface Servers {
  readonly database: Database
  readonly mysqlUrl: string
  /** `host:port` */
  readonly memcachedAddress: string
}

export async function globalCounter(
  bench: Bench,
  { database, mysqlUrl, memcachedAddress }: Servers,
): Promise<Race> {
  const baseline = await startLastInsertId({
    mysqlUrl,
    connections: CONNECTIONS,
    table: 'bench_global',
  })
  const bare = await startIncrement({ memcached: memcachedAddress })
  const cache = memcached(memcachedAddress)
  const safe = new GlobalCounter({ name: 'safe', database, cache })
  const lax = new GlobalCounter({ name: 'lax', database, cache, chanceToWrite: 0.01 })
  bench.after(async () => {
    await Promise.all([baseline.close(), bare.close(), safe.close(), lax.close()])
    await cache.close()
  })
  return {
    name: 'GlobalCounter',
    metric: NUMBERS,
    contenders: [
      numbering(`${LAST_INSERT_ID}, a counter`, () => baseline.next()),
      numbering('GlobalCounter', () => safe.increment()),
      numbering('GlobalCounter, chanceToWrite 0.01', () => lax.increment()),
      numbering('bare memcached increment (a flush loses all)', () => bare.next()),
    ],
  }
}

export async function sequence(
  bench: Bench,
  { database, mysqlUrl, memcachedAddress }: Servers,
): Promise<Race> {
  const baseline = await startLastInsertId({
    mysqlUrl,
    connections: CONNECTIONS,
    table: 'bench_sequence',
  })
  const cache = memcached(memcachedAddress)
  const small = new Sequence({ name: 'small', database, cache })
  const large = new Sequence({ name: 'large', database, cache, block: 1000 })
  bench.after(async () => {
    await Promise.all([baseline.close(), small.close(), large.close()])
    await cache.close()
  })
  return {
    name: 'Sequence',
    metric: NUMBERS,
    contenders: [
      numbering(LAST_INSERT_ID, () => baseline.next()),
      numbering(SEQUENCE, () => small.next()),
      numbering(LARGER_SEQUENCE, () => large.next()),
    ],
  }
}
