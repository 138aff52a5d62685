/**
 * A database that takes only small packets: everything is cut to what it takes, the quarantine too.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createActivity } from '../../src/activity/site-activity.js'
import { memcached } from '../../src/cache/memcached/memcached.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { createHits } from '../../src/hits/item-hits.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { type MariaDb, startMariadb } from '../servers/mariadb.js'
import { PATIENT } from '../servers/memcached.js'
import { sharedMemcached } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  createRecorded,
  insertRecorded,
  openRecorded,
  type Recorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const PACKET_BYTES = 64 * 1024
const VISITS = 8_000
const LONGEST_PAGE = 1_024
/** Rows of this writer are refused. */
const POISON = 666

test('with packets of 16 KiB, 1,000 hits are in SQL, and counted', async () => {
  const mariadb = await startMariadb(['--max-allowed-packet=16384'])
  const database = mysql(mariadb.url())
  const log = keptLog()
  const hits = createHits({
    name: 'videos',
    cache: 'memory:',
    database,
    collect: false,
    logger: log,
  })
  try {
    await hits.migrate()
    for (let i = 0; i < 1_000; i++) hits.record(`video ${i % 10}`, { viewer: `viewer ${i}` })
    await hits.flush()
    await hits.drain({ all: true })
    assert.equal(await hits.count('video 1'), 100)
    const ledger = await hits.ledger()
    assert.deepEqual([ledger.committed, ledger.quarantined], [1_000, 0])
    const long = Array.from({ length: 1_000 }, (_, i) => `${i} `.padEnd(255, `'`))
    for (const item of long) hits.record(item)
    await hits.flush()
    await hits.drain({ all: true })
    assert.deepEqual(
      [...(await hits.counts(long)).values()],
      long.map(() => 1),
    )
  } finally {
    await hits.close()
    await database.close()
    await mariadb.stop()
  }
})

describe('max_allowed_packet is 64 KiB', () => {
  let mariadb: MariaDb
  before(async () => {
    mariadb = await startMariadb([`--max-allowed-packet=${PACKET_BYTES}`])
  })
  after(() => mariadb.stop())

  const openDatabase = async (name: string) => {
    await mariadb.createDatabase(name)
    return mysql(mariadb.url(name))
  }

  test(`${VISITS} visits of pages of up to ${LONGEST_PAGE} bytes are all committed`, async () => {
    const sql = await openDatabase('visits')
    const activity = createActivity({
      name: uniqueName(),
      cache: memcached(await sharedMemcached(), PATIENT),
      database: sql,
      collect: false,
      cellTtlSeconds: 60,
      logger: keptLog(),
    })
    try {
      for (let i = 0; i < VISITS; i++) {
        // Quotes take two bytes in a statement.
        activity.record({
          visitor: `visitor ${i % 1000}`,
          page: `/${i}/`.padEnd(LONGEST_PAGE - (i % 100), `'`),
        })
      }
      await activity.flush()
      await activity.drain({ all: true })
      const { rows } = await sql.query(
        'SELECT COUNT(*) AS n, COUNT(DISTINCT page) AS pages FROM activities',
      )
      assert.deepEqual([Number(rows[0]?.['n']), Number(rows[0]?.['pages'])], [VISITS, VISITS])
      assertLedger(await activity.ledger(), VISITS)
    } finally {
      await activity.close()
      await sql.close()
    }
  })

  for (const way of ['drain', 'close'] as const) {
    test(`refused frames larger than a packet go to quarantine: ${way}() resolves`, async () => {
      const sql = await openDatabase(`refused_${way}`)
      await createRecorded(sql)
      const log = keptLog()
      const options = {
        name: uniqueName(),
        cellTtlSeconds: 60,
        logger: log,
        async commit(rows: Recorded[], tx: Parameters<typeof insertRecorded>[1]) {
          if (rows.some(({ writer }) => writer === POISON)) throw new RangeError('a poisonous row')
          await insertRecorded(rows, tx)
        },
      }
      const wide = openRecorded(
        { cache: `memcached://${await sharedMemcached()}`, database: sql, collect: false },
        options,
      )
      try {
        const filler = `'`.repeat(60_000)
        for (const row of rowsOf(0, 0, 100)) wide.append(row)
        await wide.flush()
        for (const row of rowsOf(POISON, 0, 3)) wide.append({ ...row, filler } as Recorded)
        await wide.flush()
        for (const row of rowsOf(0, 100, 200)) wide.append(row)
        await wide.flush()
        if (way === 'drain') {
          assert.equal((await wide.drain({ all: true })).quarantined, 3)
        }
        const report = await wide.close()
        assert.equal(report.lost + report.inCache, 0)
        await assertRecorded(sql, rowsOf(0, 0, 200))
        const reader = openRecorded({ cache: 'memory:', database: sql, collect: false }, options)
        assertLedger(await reader.ledger(), 200, { quarantined: 3 })
        await reader.close()
        assert.notDeepEqual(log.matching(/quarantine/i), [])
      } finally {
        await wide.close()
        await sql.close()
      }
    })
  }

  test('a statement of the caller’s commit() over the packet stops no later frame', async () => {
    const sql = await openDatabase('oversize')
    await createRecorded(sql)
    await sql.query('ALTER TABLE recorded ADD filler LONGTEXT NULL')
    const options = {
      name: uniqueName(),
      cellTtlSeconds: 60,
      logger: keptLog(),
      async commit(rows: Recorded[], tx: Parameters<typeof insertRecorded>[1]) {
        for (const { writer, number, ...others } of rows) {
          await tx.query('INSERT INTO recorded (writer, number, filler) VALUES (?, ?, ?)', [
            writer,
            number,
            String(Object.values(others)[0] ?? ''),
          ])
        }
      },
    }
    const wide = openRecorded(
      { cache: `memcached://${await sharedMemcached()}`, database: sql, collect: false },
      options,
    )
    try {
      for (const row of rowsOf(0, 0, 50)) wide.append(row)
      await wide.flush()
      // 40,000 bytes in a frame, twice as many in a statement.
      wide.append({ writer: POISON, number: 0, filler: `'`.repeat(40_000) } as Recorded)
      await wide.flush()
      for (const row of rowsOf(0, 50, 100)) wide.append(row)
      await wide.flush()
      await wide.drain({ all: true })
      await wide.close()
      await assertRecorded(sql, rowsOf(0, 0, 100))
      const reader = openRecorded({ cache: 'memory:', database: sql, collect: false }, options)
      assertLedger(await reader.ledger(), 100, { quarantined: 1 })
      await reader.close()
    } finally {
      await wide.close()
      await sql.close()
    }
  })
})
