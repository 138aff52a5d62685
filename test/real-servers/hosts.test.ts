/**
 * A site whose database has two addresses. Each of them refuses in its turn, in mid-work, and all
 * that was answered happened once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MysqlDatabase, mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { startRelay } from '../servers/relay.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { assertOnce, Everything } from './everything.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  uniqueName,
} from './recorded.js'

test('writers, collectors and counters move between two hosts, and all is once', async () => {
  const direct = await sharedMysqlUrl()
  const { port, username, password, pathname } = new URL(direct)
  const relays = [await startRelay(Number(port)), await startRelay(Number(port))] as const
  const [first, second] = relays
  const sql = mysql(direct)
  await createRecorded(sql)
  await sql.migrate()
  const site = { name: uniqueName(), cache: `memcached://${await sharedMemcached()}` }
  const log = keptLog()
  const databases = [relays, relays.toReversed()].map((order) => {
    const hosts = order.map((relay) => `127.0.0.1:${relay.port}`).join()
    const url = `mysql://${username}:${password}@${hosts}${pathname}`
    return new MysqlDatabase(url, 'database', log)
  })
  const processes = databases.map(
    (database, i) => new Everything(i, site, database, { logger: log }),
  )
  try {
    for (const one of processes) one.start()
    await delay(1_500)
    await first.close()
    await delay(2_000)
    await first.listen(first.port)
    await second.close()
    await delay(2_000)
    await Promise.all(processes.map((one) => one.stop()))
    assert(first.connections > 0, 'all have moved back to the first')
    await Promise.all(processes.map((one) => one.flush()))
    const rows = processes.flatMap((one) => one.recorded)
    await eventually('all rows are in SQL', async () => (await countRecorded(sql)) >= rows.length)
    await assertOnce(processes)
    assertLedger((await processes[0]!.totals()).ledger, rows.length)
    assert.deepEqual(await Promise.all(processes.map((one) => one.close())), [0, 0])
    await assertRecorded(sql, rows)
    assert.equal(log.matching(/is now used through/).length, 3)
  } finally {
    await Promise.all(processes.map((one) => one.close()))
    await Promise.all([sql, ...databases].map((database) => database.close()))
    await Promise.all(relays.map((relay) => relay.close()))
  }
})
