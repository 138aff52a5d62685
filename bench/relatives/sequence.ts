/**
 * What a number costs: `UPDATE … SET n = LAST_INSERT_ID(n + 1)` on MariaDB beside a `Sequence` on memcached
 * and the same MariaDB, for 1, 8 and 64 callers, in one run: `node --import tsx bench/relatives/sequence.ts`.
 */
import { createPool, type ResultSetHeader } from 'mysql2/promise'
import { Sequence } from '../../src/sequence/sequence.js'
import { startMariadb } from '../../test/servers/mariadb.js'
import { startMemcached } from '../../test/servers/memcached.js'

const CALLERS = [1, 8, 64]
const MEASURE_MS = 2_000
const WARM_UP_MS = 300
const CONNECTIONS = 10
const LARGER_BLOCK = 1_000

const [mariadb, memcached] = await Promise.all([startMariadb(), startMemcached()])
const pool = createPool({ uri: mariadb.url(), connectionLimit: CONNECTIONS })
await pool.query('CREATE TABLE numbers (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB')
await pool.query('INSERT INTO numbers VALUES (1, 0)')
const sequence = new Sequence({ name: 'bench', cache: `memcached://${memcached.address}`, database: mariadb.url() })
const larger = new Sequence({ name: 'larger', cache: `memcached://${memcached.address}`, database: mariadb.url(), block: LARGER_BLOCK })
const alone = new Sequence({ name: 'alone', cache: 'memory:', database: mariadb.url() })

const peers: [string, () => Promise<number>][] = [
  ['LAST_INSERT_ID(n + 1)', async () => (await pool.query<ResultSetHeader>('UPDATE numbers SET n = LAST_INSERT_ID(n + 1) WHERE id = 1'))[0].insertId],
  ['Sequence, memcached + MariaDB, block 100', () => sequence.next()],
  [`Sequence, memcached + MariaDB, block ${LARGER_BLOCK}`, () => larger.next()],
  ['Sequence, MariaDB alone', () => alone.next()],
]

/** Numbers a second. What was counted is checked: the numbers grow by one each. */
async function measure(next: () => Promise<number>, callers: number, ms: number): Promise<number> {
  const before = await next()
  const start = performance.now()
  let calls = 0
  await Promise.all(Array.from({ length: callers }, async () => {
    while (performance.now() - start < ms) {
      await next()
      calls++
    }
  }))
  const seconds = (performance.now() - start) / 1000
  const after = await next()
  if (after - before !== calls + 1) throw new Error(`${calls} calls have made ${after - before} numbers`)
  return calls / seconds
}

try {
  const rows: Record<string, string | number>[] = []
  for (const callers of CALLERS) {
    let first: number | undefined
    for (const [name, next] of peers) {
      await measure(next, callers, WARM_UP_MS)
      const rate = await measure(next, callers, MEASURE_MS)
      first ??= rate
      rows.push({ callers, what: name, 'numbers/s': Math.round(rate), times: Number((rate / first).toFixed(1)) })
    }
  }
  console.table(rows)
} finally {
  await Promise.all([sequence.close(), larger.close(), alone.close(), pool.end()])
  await Promise.all([mariadb.stop(), memcached.stop()])
}
