/**
 * A failover leaves the old primary alive and read-only: collectors and readers leave it by
 * themselves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { copySchema } from '../servers/copied-schema.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { type MariaDb, startMariadb } from '../servers/mariadb.js'
import { startRelay } from '../servers/relay.js'
import { sharedMemcached } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  openRecorded,
  openRecordedEngine,
  type RecordedOptions,
  rowsOf,
  uniqueName,
} from './recorded.js'

const EACH_SECOND = '* * * * * *'
/** From the failover on. */
const RECOVERED_MS = 15_000
/** A user without SUPER: one who has it may write to a server that is read-only. */
const USER = 'application'
const PASSWORD = 'application-password'
const SCHEMA = 'site'

async function startPrimary(): Promise<MariaDb> {
  const mariadb = await startMariadb()
  await mariadb.createDatabase(SCHEMA)
  const administrator = await createConnection(mariadb.url())
  await administrator.query(`CREATE USER '${USER}'@'%' IDENTIFIED BY '${PASSWORD}'`)
  await administrator.query(`GRANT ALL PRIVILEGES ON ${SCHEMA}.* TO '${USER}'@'%'`)
  await administrator.end()
  return mariadb
}

test('the old primary turns read-only: collector and readers move within seconds', async () => {
  const [old, anew] = await Promise.all([startPrimary(), startPrimary()])
  const relay = await startRelay(old.port)
  const url = `mysql://${USER}:${PASSWORD}@127.0.0.1:${relay.port}/${SCHEMA}`
  const [oldSql, newSql] = [mysql(old.url(SCHEMA)), mysql(anew.url(SCHEMA))]
  await createRecorded(oldSql)
  const cache = `memcached://${await sharedMemcached()}`
  const options: RecordedOptions = {
    name: uniqueName(),
    cellTtlSeconds: 60,
    confirmSeconds: 3600,
    logger: keptLog(),
    readTtlSeconds: 1,
    read: async (database) => countRecorded(database),
  }
  const writer = openRecorded({ cache, database: url, collect: false }, options)
  const { wide: collector, engine } = openRecordedEngine(
    { cache, database: url, collect: EACH_SECOND },
    options,
  )
  try {
    for (const row of rowsOf(0, 0, 500)) writer.append(row)
    await eventually(
      'the first rows are collected',
      async () => (await countRecorded(oldSql)) === 500,
    )
    // All of its connections have been at work, and idle beside each other.
    await Promise.all(Array.from({ length: 5 }, () => engine.database.query('SELECT SLEEP(0.2)')))
    assert.equal(await collector.read(), 500)

    const administrator = await createConnection(old.url())
    await administrator.query('SET GLOBAL read_only = 1')
    await administrator.end()
    await copySchema(old.url(SCHEMA), anew.url(SCHEMA))
    relay.leadTo(anew.port)

    const began = performance.now()
    for (const row of rowsOf(0, 500, 1000)) writer.append(row)
    await eventually(
      'new rows are collected on the new primary',
      async () => (await countRecorded(newSql)) === 1000,
    )
    const figures: number[] = []
    while (performance.now() - began < RECOVERED_MS) {
      figures.push(await collector.read())
      await delay(250)
    }
    const first = figures.indexOf(1000)
    assert(first >= 0, `readers see the new primary: ${figures.join(', ')}`)
    assert.deepEqual(
      figures.slice(first).filter((figure) => figure !== 1000),
      [],
      'and do not jump back to the old one',
    )
    assertLedger(await collector.ledger(), 1000)
    await Promise.all([writer.close(), collector.close()])
    await assertRecorded(newSql, rowsOf(0, 0, 1000))
    assert.equal(await countRecorded(oldSql), 500)
  } finally {
    await Promise.all([writer.close(), collector.close()])
    await Promise.all([oldSql.close(), newSql.close()])
    await relay.close()
    await Promise.all([old.stop(), anew.stop()])
  }
})
