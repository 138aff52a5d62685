/**
 * A site of two processes on PostgreSQL, with everything that the package writes, while the server
 * fails in each of its ways. No row of a living writer is lost, none comes twice, and no number is
 * given twice.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from '../../src/database/database.js'
import { PostgresDatabase } from '../../src/database/postgres/postgres.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { SILENT } from '../../src/support/logger.js'
import { rejects } from '../../src/testing/rejects.js'
import { handOver, startPostgres, type Postgres } from '../servers/postgres.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedMemcached } from '../servers/shared.js'
import { assertOnce, Everything } from './everything.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  uniqueName,
} from './recorded.js'

const PROCESSES = 2
const CONNECTIONS_ENDED = 200

const cleanUps: (() => unknown)[] = []
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

function open(url: string): Database {
  const database = new PostgresDatabase(url, 'database', SILENT)
  cleanUps.push(() => database.close())
  return database
}

/**
 * Runs the site on `urls`, has `fail` happen while it works, and counts in the database of `left`,
 * the server that is left in the end.
 */
async function surviving(
  url: string,
  fail: (rowsInSql: () => Promise<void>) => Promise<unknown>,
  left = url,
): Promise<void> {
  const sql = open(url)
  await createRecorded(sql)
  await sql.migrate()
  const site = { name: uniqueName(), cache: `memcached://${await sharedMemcached()}` }
  const processes = Array.from(
    { length: PROCESSES },
    (_, writer) => new Everything(writer, site, open(url), { logger: SILENT }),
  )
  try {
    for (const one of processes) one.start()
    const at = open(left)
    /** Resolves when rows that were recorded after this call are in SQL. */
    const rowsInSql = async (): Promise<void> => {
      const recorded = processes.flatMap((one) => one.recorded).length
      await eventually('rows come to SQL again', async () => {
        return (await countRecorded(at).catch(() => 0)) > recorded
      })
    }
    await rowsInSql()
    await fail(rowsInSql)
    await rowsInSql()
    await Promise.all(processes.map((one) => one.stop()))
    await Promise.all(processes.map((one) => one.flush()))
    const rows = processes.flatMap((one) => one.recorded)
    await eventually('all rows are in SQL', async () => (await countRecorded(at)) >= rows.length)
    await assertOnce(processes)
    assertLedger((await processes[0]!.totals()).ledger, rows.length)
    assert.deepEqual(
      await Promise.all(processes.map((one) => one.close())),
      processes.map(() => 0),
    )
    await assertRecorded(at, rows)
  } finally {
    await Promise.all(processes.map((one) => one.close()))
  }
}

async function started(...given: Parameters<typeof startPostgres>): Promise<Postgres> {
  const server = await startPostgres(...given)
  cleanUps.push(() => server.stop())
  return server
}

test('PostgreSQL is restarted, killed, read-only, locked, and ends 200 connections', async () => {
  const server = await started()
  await surviving(server.url(), async (rowsInSql) => {
    await server.restart()
    await rowsInSql()
    await server.kill()
    await delay(500)
    await server.restart()
    await rowsInSql()

    for (const readOnly of ['on', 'off']) {
      await server.tell(`ALTER SYSTEM SET default_transaction_read_only = ${readOnly}`)
      await server.tell('SELECT pg_reload_conf()')
      await delay(1_500)
    }
    await rowsInSql()

    const holder = new pg.Client(server.url())
    await holder.connect()
    await holder.query('BEGIN')
    // In the order in which a commit locks them; another order deadlocks with it.
    await holder.query('LOCK TABLE wide_cache_writers, recorded, sharded_counter_shards')
    await delay(2_000)
    await holder.query('ROLLBACK')
    await rowsInSql()

    for (let ended = 0; ended < CONNECTIONS_ENDED;) {
      const { rows } = await holder.query<{ n: string }>(
        'SELECT COUNT(pg_terminate_backend(pid)) AS n FROM pg_stat_activity ' +
          "WHERE application_name = 'wide-cache'",
      )
      ended += Number(rows[0]?.n)
      await delay(20)
    }
    await holder.end()
  })
})

test('PostgreSQL fails over to a standby that has all that was committed', async () => {
  const primary = await started()
  const standby = await primary.startStandby()
  cleanUps.push(() => standby.stop())
  await primary.tell("ALTER SYSTEM SET synchronous_standby_names = '*'")
  await primary.tell('SELECT pg_reload_conf()')
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
  const url = primary.url().replace(`127.0.0.1:${primary.port}`, hosts)
  await surviving(
    url,
    async () => {
      await primary.kill()
      await delay(1_000)
      await standby.promote()
    },
    standby.url(),
  )
})

test('the disk of PostgreSQL is full for a while', async (context) => {
  const disk = temporaryFolder('full-disk')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=1777', 'tmpfs', disk])
  } catch {
    return context.skip('needs root, to mount a small disk')
  }
  cleanUps.push(() => removeFolder(disk))
  cleanUps.push(() => execFileSync('umount', ['-l', disk]))
  const server = await started()
  const space = join(disk, 'space')
  mkdirSync(space)
  handOver(space)
  await server.tell(`CREATE TABLESPACE small LOCATION '${space}'`)
  await server.tell('CREATE DATABASE on_small_disk TABLESPACE small')
  await surviving(server.url('on_small_disk'), async (rowsInSql) => {
    const filler = join(disk, 'filler')
    mkdirSync(filler)
    for (let file = 0; isWritten(join(filler, String(file)));) file++
    const refused = open(server.url('on_small_disk')).query(
      'CREATE TABLE filled AS SELECT n FROM generate_series(1, 100000) AS n',
    )
    // 53100, or XX000 if the connection was yet to begin.
    await rejects(refused, 'capacity')
    await delay(3_000)
    rmSync(filler, { recursive: true })
    await rowsInSql()
  })
})

/** Writes a piece to the disk; `false`: it is full. */
function isWritten(file: string): boolean {
  try {
    writeFileSync(file, Buffer.alloc(64 * 1024))
    return true
  } catch {
    return false
  }
}
