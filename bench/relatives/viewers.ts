/** One item that everybody looks at: what a view by a new viewer takes, and what stays in SQL. */
import { setImmediate as turn } from 'node:timers/promises'
import { createHits } from '../../src/index.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Bench } from '../harness/part.js'
import { less } from '../harness/samples.js'
import { asked, rowOf } from '../harness/sql.js'

export const ONE_ITEM = 'Hits, one item'
export const MICROSECONDS = less('µs/view until in SQL')
export const BYTES = less('bytes/viewer in SQL')
export const COUNT_MS = less('ms of count()')

const ITEM = 'the front page'
/** Views that are brought to SQL at one time: those of ten seconds at 10,000 a second. */
const VIEWS_A_DRAIN = 100_000
/** A site has requests meanwhile, and the writer its time for sending. */
const VIEWS_A_TURN = 500

/** @throws Error if not each viewer counts once */
export async function viewers(
  bench: Bench,
  mariadb: MariaDb,
  memcachedAddress: string,
  count: number,
): Promise<void> {
  const database = await mariadb.createDatabase('viewers')
  const cache = `memcached://${memcachedAddress}`
  const hits = bench.closing(createHits({ name: 'viewers', database, cache, collect: false }))
  await hits.migrate()
  const began = performance.now()
  for (let viewer = 0; viewer < count;) {
    const until = Math.min(count, viewer + VIEWS_A_DRAIN)
    bench.progress(`one item: viewer ${viewer} of ${count}`)
    while (viewer < until) {
      hits.record(ITEM, { viewer: `viewer ${viewer}` })
      if (++viewer % VIEWS_A_TURN === 0) await turn()
    }
    await hits.flush()
    await hits.drain({ all: true })
  }
  const seconds = (performance.now() - began) / 1000
  const before = performance.now()
  const counted = await hits.count(ITEM)
  const milliseconds = performance.now() - before
  if (counted !== count) throw new Error(`${count} viewers of one item have made ${counted}`)
  const { bytes } = await asked(database, (sql) => rowOf<'bytes'>(sql, SIZE))
  const setting = `${count.toLocaleString('en')} viewers`
  bench.samples.add(ONE_ITEM, setting, MICROSECONDS, (seconds * 1e6) / count)
  bench.samples.add(ONE_ITEM, setting, BYTES, bytes / count)
  bench.samples.add(ONE_ITEM, setting, COUNT_MS, milliseconds)
}

/** The size of all tables with their indexes on the disk. */
const SIZE =
  'SELECT SUM(file_size) AS bytes FROM information_schema.innodb_sys_tablespaces ' +
  "WHERE name LIKE CONCAT(DATABASE(), '/%')"
