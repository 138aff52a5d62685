/**
 * A `commit` that ends the transaction it was given is refused before it harms: no row comes twice,
 * and the log says why.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { createRecorded, insertRecorded, openRecorded, rowsOf, uniqueName } from './recorded.js'

const COLLECTORS = 3
const ROWS = 2_400
/** Pattern of the error's text. */
const SAYS_WHY = /commit|transaction/i

const STATEMENTS = [
  'CREATE TABLE IF NOT EXISTS made_by_commit (n INT)',
  'ALTER TABLE beside ADD COLUMN IF NOT EXISTS n INT',
  'COMMIT',
  'COMMIT AND CHAIN',
  'BEGIN',
  'START TRANSACTION',
  '/* a comment */ commit',
  'LOCK TABLES recorded WRITE',
  'SET autocommit = 1',
  'CALL commits()',
]

describe('implicit commits', { concurrency: 2 }, () => {
  let cache: string
  before(async () => {
    cache = `memcached://${await sharedMemcached()}`
  })

  for (const statement of STATEMENTS) {
    test(`${statement} through tx is refused: no collector commits a row twice`, async () => {
      const url = await sharedMysqlUrl()
      const sql = mysql(url)
      await createRecorded(sql)
      await sql.query('CREATE TABLE beside (n INT)')
      await sql.query('CREATE PROCEDURE commits() COMMIT')
      const errors: unknown[] = []
      const options = {
        name: uniqueName(),
        width: 2,
        cellTtlSeconds: 60,
        closeTimeoutMs: 1_000,
        async commit(
          rows: Parameters<typeof insertRecorded>[0],
          tx: Parameters<typeof insertRecorded>[1],
        ) {
          await insertRecorded(rows, tx)
          await tx.query(statement).catch((error: unknown) => {
            errors.push(error)
            throw error
          })
          // Long enough for another collector to come.
          await delay(50)
        },
      }
      const log = keptLog()
      const databases = Array.from({ length: COLLECTORS }, () => mysql(url))
      const writer = openRecorded(
        { cache, database: sql, collect: false },
        { ...options, logger: keptLog() },
      )
      const collectors = databases.map((database) =>
        openRecorded({ cache, database, collect: false }, { ...options, logger: log }),
      )
      try {
        for (const row of rowsOf(0, 0, ROWS)) writer.append(row)
        // While the cache is slow to answer, flush() commits by itself, and is refused like all.
        await eventually('the cache has all rows', () =>
          writer.flush().then(
            () => true,
            () => false,
          ),
        )
        const failures: string[] = []
        for (let round = 0; round < 2; round++) {
          for (const outcome of await Promise.allSettled(
            collectors.map((wide) => wide.drain({ all: true })),
          )) {
            if (outcome.status === 'rejected') failures.push(String(outcome.reason))
          }
        }
        await Promise.all([writer, ...collectors].map((wide) => wide.close()))
        const reader = openRecorded(
          { cache: 'memory:', database: sql, collect: false },
          { ...options, logger: keptLog() },
        )
        const { committed, outstanding, quarantined } = await reader.ledger()
        await reader.close()
        const { rows } = await sql.query(
          'SELECT COUNT(*) AS n, COUNT(DISTINCT number) AS different FROM recorded',
        )
        assert.deepEqual(
          { rows: Number(rows[0]?.['n']), committed, quarantined, outstanding: outstanding >= 0 },
          {
            rows: Number(rows[0]?.['different']),
            committed: Number(rows[0]?.['n']),
            quarantined: 0,
            outstanding: true,
          },
        )
        assert.notEqual(errors.length, 0, 'the statement was to be refused')
        for (const error of errors) assert.match(String(error), SAYS_WHY)
        assert.notEqual(failures.length, 0, 'a drain that cannot commit was to reject')
      } finally {
        await Promise.all([writer, ...collectors].map((wide) => wide.close()))
        await Promise.all([sql, ...databases].map((database) => database.close()))
      }
    })
  }
})
