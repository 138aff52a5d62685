/**
 * Promise 1 on a Galera cluster, all nodes of which are written to: their locks are their own, and
 * conflicts appear when they commit.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../src/database/database.js'
import { MysqlDatabase, mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { fewOrMany } from '../scale.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { freshDatabase, type MariaDb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import { galeraLacks, startGalera } from '../servers/galera.js'
import { sharedMemcached } from '../servers/shared.js'
import { assertOnce, Everything } from './everything.js'
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

const NODES = 3
const ROWS_A_NODE = fewOrMany(7_000, 70_000)
const UNDISTURBED_MS = fewOrMany(4_000, 15_000)

/** A MariaDB that has no Galera is a matter of how it was built; Debian's has. */
const lacks = galeraLacks()

describe('Galera', { skip: lacks !== undefined && `needs ${lacks}` }, () => {
  let cluster: MariaDb[] = []
  before(async () => {
    cluster = await startGalera(NODES)
  })
  after(() => Promise.all(cluster.map((node) => node.kill())))

  /** A new database, by its URL on each node. */
  async function freshOnAll(): Promise<string[]> {
    const { pathname } = new URL(await freshDatabase(cluster[0]!.url()))
    return cluster.map((node) => node.url(pathname.slice(1)))
  }

  test(`${NODES * ROWS_A_NODE} rows through all ${NODES} nodes, each once`, async () => {
    const sql = (await freshOnAll()).map((url) => mysql(url))
    const cache = `memcached://${await sharedMemcached()}`
    const options = {
      name: uniqueName(),
      cellTtlSeconds: 60,
      logger: keptLog(),
      closeTimeoutMs: 20_000,
    }
    const [first] = sql as [(typeof sql)[0] & object]
    await createRecorded(first)
    await first.migrate()
    // Every process writes and collects, each second and through its own node.
    const processes = sql.map((database) =>
      openRecorded(
        { cache, database, collect: '* * * * * *' },
        {
          ...options,
          async commit(rows, tx) {
            await insertRecorded(rows, tx)
            // Room for conflicts.
            await delay(20)
          },
        },
      ),
    )
    try {
      for (let from = 0; from < ROWS_A_NODE; from += 70) {
        for (const [writer, wide] of processes.entries()) {
          for (const row of rowsOf(writer, from, from + 70)) wide.append(row)
        }
        // Drains of all at once, beside the scheduled ones.
        if (from % 700 === 0) {
          for (const wide of processes) void wide.drain({ all: true }).catch(() => undefined)
        }
        await delay(50)
      }
      await Promise.all(processes.map((wide) => wide.flush()))
      const all = processes.flatMap((_, writer) => rowsOf(writer, 0, ROWS_A_NODE))
      await eventually(
        'all rows are in SQL',
        async () => (await countRecorded(first)) >= all.length,
      )
      // A busy machine may meet so many conflicts in a row that the next run has to collect.
      const failures = options.logger.matching(/failed|could not/)
      assert.deepEqual(
        failures.filter((line) => !/Deadlock found .* retry its work/.test(line)),
        [],
      )
      const reports = await Promise.all(processes.map((wide) => wide.close()))
      assert.deepEqual(
        reports.map(({ lost }) => lost),
        [0, 0, 0],
      )
      for (const [node, database] of sql.entries()) {
        await eventually(
          `node ${node} has them`,
          async () => (await countRecorded(database)) >= all.length,
        )
      }
      for (const [node, database] of sql.entries()) {
        await assertRecorded(database, all, `node ${node}`)
      }
      const reader = openRecorded({ cache, database: first, collect: false }, options)
      assertLedger(await reader.ledger(), all.length)
      await reader.close()
    } finally {
      await Promise.all(processes.map((wide) => wide.close()))
      await Promise.all(sql.map((database) => database.close()))
    }
  })

  test('a flush, and a node killed and brought back: all is once, on all nodes', async () => {
    const urls = await freshOnAll()
    const sql = urls.map((url) => mysql(url))
    const [first] = sql as [Database]
    await createRecorded(first)
    // All nodes at once, whose locks do not know of each other.
    await Promise.all(sql.map((database) => database.migrate()))
    const memcached = await startMemcached()
    const site = { name: uniqueName(), cache: `memcached://${memcached.address}` }
    const log = keptLog()
    // Each process begins with another node.
    const databases = urls.map((url, node) => {
      const { username, password, pathname } = new URL(url)
      const order = [...urls.slice(node), ...urls.slice(0, node)].map((one) => new URL(one).host)
      return new MysqlDatabase(
        `mysql://${username}:${password}@${order.join()}${pathname}`,
        'database',
        log,
      )
    })
    const processes = databases.map(
      (database, node) => new Everything(node, site, database, { logger: log, confirmSeconds: 28 }),
    )
    try {
      for (const one of processes) one.start()
      await delay(UNDISTURBED_MS)
      assert.deepEqual(log.matching(/failed|could not/), [], 'conflicts are no news')
      await memcached.flush()
      await delay(UNDISTURBED_MS)
      await cluster[1]!.kill()
      await delay(UNDISTURBED_MS)
      await cluster[1]!.restart()
      await delay(UNDISTURBED_MS)
      await Promise.all(processes.map((one) => one.stop()))
      assert.equal(log.matching(/is now used through/).length, 1)
      await Promise.all(processes.map((one) => one.flush()))
      const rows = processes.flatMap((one) => one.recorded)
      for (const [node, database] of sql.entries()) {
        await eventually(`node ${node} has all rows`, async () => {
          const found = await countRecorded(database).catch(() => 0)
          return found >= rows.length
        })
      }
      await assertOnce(processes)
      assertLedger((await processes[0]!.totals()).ledger, rows.length)
      assert.deepEqual(await Promise.all(processes.map((one) => one.close())), [0, 0, 0])
      for (const [node, database] of sql.entries()) {
        await assertRecorded(database, rows, `node ${node}`)
      }
    } finally {
      await Promise.all(processes.map((one) => one.close()))
      await Promise.all([...sql, ...databases].map((database) => database.close()))
      await memcached.stop()
    }
  })
})
