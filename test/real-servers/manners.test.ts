/** The package is a guest in its process: it neither ends it nor needs it to be started anew. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { mysql } from '../../src/database/mysql/mysql.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { temporaryFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import {
  assertRecorded,
  countRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'
import { startRecorder } from './recorder.js'

const EACH_SECOND = '* * * * * *'
const RECOVERED_MS = 30_000

describe('manners', { concurrency: true }, () => {
  test('a logger whose methods return a rejected promise does not end the process', async () => {
    const database = await sharedMysqlUrl()
    const sql = mysql(database)
    // Nobody listens there: there is something to log.
    const recorder = await startRecorder({
      cache: 'memcached://127.0.0.1:1',
      database,
      collect: EACH_SECOND,
      name: uniqueName(),
      rejectingLogger: true,
    })
    try {
      await recorder.append(0, 0, 10)
      await eventually('something is logged', () => recorder.lines.length > 0)
      await delay(500)
      await createRecorded(sql)
      await recorder.append(0, 10, 20)
      await recorder.close()
      await assertRecorded(sql, rowsOf(0, 0, 20))
    } finally {
      await recorder.kill()
      await sql.close()
    }
  })

  test('the schema is dropped and made anew under a process: it recovers by itself', async () => {
    const database = await sharedMysqlUrl()
    const sql = mysql(database)
    await createRecorded(sql)
    const cache = `memcached://${await sharedMemcached()}`
    const options = {
      name: uniqueName(),
      cellTtlSeconds: 60,
      confirmSeconds: 28,
      logger: keptLog(),
    }
    const wide = openRecorded({ cache, database, collect: EACH_SECOND }, options)
    try {
      for (const row of rowsOf(0, 0, 100)) wide.append(row)
      await eventually(
        'the first rows are collected',
        async () => (await countRecorded(sql)) === 100,
      )
      const schema = new URL(database).pathname.slice(1)
      const administrator = await createConnection(database)
      await administrator.query(`DROP DATABASE \`${schema}\``)
      await delay(2_000)
      await administrator.query(`CREATE DATABASE \`${schema}\``)
      await administrator.end()
      const anew = mysql(database)
      try {
        await createRecorded(anew)
        const before = performance.now()
        let number = 1_000
        // What is recorded once it has found the new schema comes there; what it held before may
        // come too.
        await eventually('rows are recorded in the new schema', async () => {
          wide.append({ writer: 1, number: number++ })
          return (await countRecorded(anew)) > 0
        })
        assert(performance.now() - before < RECOVERED_MS)
        for (const row of rowsOf(2, 0, 100)) wide.append(row)
        await eventually(
          'new rows are collected',
          async () =>
            Number(
              (
                await anew.query(
                  'SELECT COUNT(DISTINCT number) AS n FROM recorded WHERE writer = 2',
                )
              ).rows[0]?.['n'],
            ) === 100,
        )
        await wide.close()
        const { rows } = await anew.query(
          'SELECT COUNT(*) AS n, COUNT(DISTINCT writer, number) AS different FROM recorded',
        )
        assert.equal(rows[0]?.['n'], rows[0]?.['different'])
      } finally {
        await anew.close()
      }
    } finally {
      await wide.close()
      await sql.close()
    }
  })

  test('process.exit() keeps its exit code while SQLite waits for another process', async () => {
    const file = join(temporaryFolder('exit'), 'shared.db')
    const sql = sqlite(file)
    await sql.query('CREATE TABLE numbers (n INTEGER)')
    try {
      await sql.transaction(async (tx) => {
        await tx.query('INSERT INTO numbers VALUES (1)')
        const child = fork(
          fileURLToPath(new URL('../servers/exiting-process.ts', import.meta.url)),
          [file],
          { stdio: 'ignore' },
        )
        assert.deepEqual(await once(child, 'exit'), [0, null])
      })
    } finally {
      await sql.close()
    }
  })
})
