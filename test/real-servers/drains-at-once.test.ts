/** Collectors need no agreement: drains that start at the same moment on a new grid all resolve. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mysql } from '../../src/database/mysql/mysql.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import {
  assertRecorded,
  createRecorded,
  openRecorded,
  type Recorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const GRIDS = 40
const ROWS = 10

test(`${GRIDS} times two drains of a new grid: none rejects, each row is in SQL once`, async () => {
  const cache = `memcached://${await sharedMemcached()}`
  const url = await sharedMysqlUrl()
  const [sql, others] = [mysql(url), mysql(url)]
  await createRecorded(sql)
  await sql.migrate()
  const failures: string[] = []
  const all: Recorded[] = []
  try {
    for (let grid = 0; grid < GRIDS; grid++) {
      // Narrow, so that a drain asks the cache for few of a new grid's cells; it still takes it
      // many transactions.
      const options = { name: uniqueName(), width: 1, cellTtlSeconds: 1200 }
      const processes = [sql, others].map((database) =>
        openRecorded({ cache, database, collect: false }, options),
      )
      await Promise.all(processes.map((wide) => wide.migrate()))
      const rows = rowsOf(grid, 0, ROWS)
      for (const row of rows) processes[0]!.append(row)
      all.push(...rows)
      await processes[0]!.flush()
      for (const outcome of await Promise.allSettled(
        processes.map((wide) => wide.drain({ all: true })),
      )) {
        if (outcome.status === 'rejected') failures.push(`grid ${grid}: ${String(outcome.reason)}`)
      }
      await Promise.all(processes.map((wide) => wide.close()))
    }
    assert.deepEqual(failures, [])
    await assertRecorded(sql, all)
  } finally {
    await Promise.all([sql.close(), others.close()])
  }
})
