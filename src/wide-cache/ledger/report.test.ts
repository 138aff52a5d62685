import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../../database/database.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { table } from '../../database/table.js'
import { ledgerReport } from './report.js'
import { enterName } from './name-settings.js'
import { wrapped } from '../../../test/servers/wrapped.js'

const read = (database: ReturnType<typeof sqlite>) =>
  ledgerReport(database, 'test', () => undefined)

test('reading the ledger makes no tables, and says how to make them', async () => {
  const database = sqlite(':memory:')
  for (let tries = 0; tries < 2; tries++) {
    await assert.rejects(read(database), (error) => {
      assert(error instanceof DatabaseError && error.category === 'usage')
      assert.match(
        error.message,
        /no such table.*ledger of "test".*migrate\(\).*wide-cache migrate/,
      )
      return true
    })
  }
  await database.migrate()
  assert.equal((await read(database)).issued, 0)
  await database.close()
  await assert.rejects(read(database), {
    code: 'DATABASE_CLOSED',
    message: 'The database has been closed by close()',
  })
})

test('a writer of this process that the ledger does not have yet is in the report', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const own = { writer: Buffer.alloc(16, 1), issued: 7, dropped: 2 }
  assert.deepEqual(await ledgerReport(database, 'test', () => own), {
    issued: 9,
    committed: 0,
    duplicate: 0,
    quarantined: 0,
    dropped: 2,
    outstanding: 7,
    owed: 0,
    lost: 0,
  })
  await database.close()
})

test('rows of the writer of this process are never owed', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  await enterName(database, {
    name: 'test',
    kind: 'rows',
    cellTtlSeconds: 60,
    directSeconds: 75,
    vanishedSeconds: 60,
    nameSettings: {},
  })
  const writers = table('wide_cache_writers', ['name', 'writer'], 'issued', 'dropped', 'last_seen')
  const [own, vanished] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
  await writers.insert(database, [
    ['test', own, 5, 1, 0],
    ['test', vanished, 3, 0, 0],
  ])
  const local = { writer: own, issued: 7, dropped: 2 }
  assert.deepEqual(await ledgerReport(database, 'test', () => local), {
    issued: 12,
    committed: 0,
    duplicate: 0,
    quarantined: 0,
    dropped: 2,
    outstanding: 7,
    owed: 3,
    lost: 0,
  })
  await database.close()
})

test('rows that are appended while SQL is asked are in the report', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  let issued = 3
  const busy = wrapped(database, {
    query: async (sql, values) => {
      const answer = await database.query(sql, values)
      issued = 5
      return answer
    },
  })
  const own = () => ({ writer: Buffer.alloc(16, 1), issued, dropped: 0 })
  assert.equal((await ledgerReport(busy, 'test', own)).issued, 5)
  await database.close()
})
