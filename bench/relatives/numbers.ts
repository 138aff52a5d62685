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
import { CONNECTIONS, numbering, type Race } from './race.js'
import { more } from '../harness/samples.js'

export const SEQUENCE = 'Sequence, block 100'
export const LARGER_SEQUENCE = 'Sequence, block 1,000'
export const LAST_INSERT_ID = 'UPDATE … LAST_INSERT_ID(n + 1)'

const NUMBERS = more('numbers/s')

/** The races of both. `memcachedAddress`: `host:port`. */
export async function numbers(
  bench: Bench,
  database: Database,
  mysqlUrl: string,
  memcachedAddress: string,
): Promise<{ globalCounter: Race; sequence: Race }> {
  const rowOf = (table: string) => startLastInsertId({ mysqlUrl, connections: CONNECTIONS, table })
  const [counterRow, row] = [await rowOf('bench_global'), await rowOf('bench_sequence')]
  const bare = await startIncrement({ memcached: memcachedAddress })
  const cache = memcached(memcachedAddress)
  const safe = new GlobalCounter({ name: 'safe', database, cache })
  const lax = new GlobalCounter({ name: 'lax', database, cache, chanceToWrite: 0.01 })
  const small = new Sequence({ name: 'small', database, cache })
  const large = new Sequence({ name: 'large', database, cache, block: 1000 })
  bench.after(async () => {
    const all = [counterRow, row, bare, safe, lax, small, large]
    await Promise.all(all.map((one) => one.close()))
    await cache.close()
  })
  return {
    globalCounter: {
      name: 'GlobalCounter',
      metric: NUMBERS,
      contenders: [
        numbering(`${LAST_INSERT_ID}, a counter`, () => counterRow.next()),
        numbering('GlobalCounter', () => safe.increment()),
        numbering('GlobalCounter, chanceToWrite 0.01', () => lax.increment()),
        numbering('bare memcached increment (a flush loses all)', () => bare.next()),
      ],
    },
    sequence: {
      name: 'Sequence',
      metric: NUMBERS,
      contenders: [
        numbering(LAST_INSERT_ID, () => row.next()),
        numbering(SEQUENCE, () => small.next()),
        numbering(LARGER_SEQUENCE, () => large.next()),
      ],
    },
  }
}
