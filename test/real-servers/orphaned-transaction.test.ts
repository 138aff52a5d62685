/**
 * A connection is lost in mid-transaction and neither side is told: the server keeps its locks, and
 * the grid goes on all the same.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { startMariadb } from '../servers/mariadb.js'
import { startRelay } from '../servers/relay.js'
import { sharedMemcached } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  insertRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const EACH_SECOND = '* * * * * *'
/** After the loss, all that was recorded is in SQL within so long. */
const GOES_ON_MS = 30_000

test('the network drops a collector’s commit: the grid goes on in 30 s, without loss', async () => {
  const mariadb = await startMariadb()
  const relay = await startRelay(mariadb.port)
  const sql = mysql(mariadb.url())
  await createRecorded(sql)
  const cache = `memcached://${await sharedMemcached()}`
  const options = { name: uniqueName(), cellTtlSeconds: 60, logger: keptLog() }
  const behindRelay = new URL(mariadb.url())
  behindRelay.port = String(relay.port)
  let inCommit = false
  const cutOff = openRecorded(
    { cache, database: behindRelay.href, collect: false },
    {
      ...options,
      closeTimeoutMs: 500,
      async commit(rows, tx) {
        await insertRecorded(rows, tx)
        inCommit = true
        relay.loseConnections()
        // The statement reaches nobody.
        await tx.query('SELECT 1')
      },
    },
  )
  const writer = openRecorded({ cache, database: sql, collect: false }, options)
  const collector = openRecorded({ cache, database: sql, collect: false }, options)
  let going: ReturnType<typeof openRecorded> | undefined
  try {
    await Promise.all([cutOff.migrate(), writer.migrate(), collector.migrate()])
    for (const row of rowsOf(0, 0, 100)) writer.append(row)
    await writer.flush()
    const cut = cutOff.drain({ all: true }).then(
      () => 'committed',
      () => 'failed',
    )
    await eventually('the collector is in mid-commit', () => inCommit)
    const began = performance.now()
    going = openRecorded({ cache, database: sql, collect: EACH_SECOND }, options)
    let recorded = 100
    // Half a minute of traffic at most, and its writer holds all of it.
    while (performance.now() - began < GOES_ON_MS && (await countRecorded(sql)) < recorded) {
      for (const row of rowsOf(0, recorded, recorded + 10)) writer.append(row)
      recorded += 10
      await delay(500)
      if ((await countRecorded(sql)) > 0) break
    }
    const gap = performance.now() - began
    assert(gap < GOES_ON_MS, `no row was committed within ${GOES_ON_MS / 1000} s`)
    await eventually(
      'all that was recorded is in SQL',
      async () => (await countRecorded(sql)) >= recorded,
    )
    await Promise.all([writer.close(), going.close()])
    await assertRecorded(sql, rowsOf(0, 0, recorded))
    assertLedger(await collector.ledger(), recorded)
    // Its own close() ends what waits for an answer.
    await cutOff.close()
    assert.equal(await cut, 'failed')
  } finally {
    await Promise.all([cutOff, writer, collector, going].map((wide) => wide?.close()))
    await sql.close()
    await relay.close()
    await mariadb.stop()
  }
})
