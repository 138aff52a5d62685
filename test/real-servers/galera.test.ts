/**
 * Promise 1 on a Galera cluster, all nodes of which are written to: their locks are their own, and
 * conflicts appear when they commit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { fewOrMany } from '../scale.js'
import { eventually } from '../servers/eventually.js'
import { galeraLacks, startGalera } from '../servers/galera.js'
import { sharedMemcached } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  insertRecorded,
  keptLog,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const NODES = 3
const ROWS_A_NODE = fewOrMany(7_000, 70_000)
const COLLECTED_MS = 40_000

/** A MariaDB that has no Galera is a matter of how it was built; Debian's has. */
const lacks = galeraLacks()

test(
  `${NODES * ROWS_A_NODE} rows through all ${NODES} nodes of a Galera cluster, each once`,
  { skip: lacks !== undefined && `needs ${lacks}` },
  async () => {
    const cluster = await startGalera(NODES)
    const sql = cluster.map((node) => mysql(node.url()))
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
        COLLECTED_MS,
        async () => (await countRecorded(first)) >= all.length,
      )
      const reports = await Promise.all(processes.map((wide) => wide.close()))
      assert.deepEqual(
        reports.map(({ lost }) => lost),
        [0, 0, 0],
      )
      for (const [node, database] of sql.entries()) {
        await eventually(
          `node ${node} has them`,
          COLLECTED_MS,
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
      await Promise.all(cluster.map((node) => node.kill()))
    }
  },
)
