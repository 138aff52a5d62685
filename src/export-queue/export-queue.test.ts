import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import { DatabaseError } from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { ExportQueue } from './export-queue.js'
import { exportSuite } from './export-queue.suite.js'

const folder = temporaryFolder('export-queue')
after(() => removeFolder(folder))
let files = 0

exportSuite({ name: 'SQLite', fresh: async () => `sqlite:${join(folder, `${files++}.db`)}` })
exportSuite({ name: 'MariaDB', fresh: sharedMysqlUrl })
exportSuite({ name: 'PostgreSQL', fresh: sharedPostgresUrl })

test('MariaDB: exporting waits for no transaction, and late commits get new versions', async () => {
  const database = mysql(await sharedMysqlUrl())
  try {
    const came: [number, number][] = []
    let broken = false
    const queue = new ExportQueue<string, number>({
      database,
      name: 'late',
      buckets: 1,
      every: false,
      exporter(entries) {
        if (broken) throw new Error('broken')
        came.push(...entries.map(({ value, version }): [number, number] => [value, version]))
      },
    })
    await queue.migrate()
    await database.transaction(async (tx) => {
      await queue.add('a', 1, tx)
      // Behind the queue's own hook: the transaction has inserted its entry, and goes on.
      tx.beforeCommit(async () => {
        await database.transaction((other) => queue.add('a', 2, other))
        assert.equal(await queue.process(), 1)
      })
    })
    assert.equal(await queue.process(), 1)
    assert.deepEqual(came, [
      [2, 1],
      [1, 2],
    ])

    // Nor does a late entry overtake one that has its version, but has not been exported yet.
    broken = true
    await database.transaction(async (tx) => {
      await queue.add('a', 3, tx)
      tx.beforeCommit(async () => {
        await database.transaction((other) => queue.add('a', 4, other))
        await assert.rejects(queue.process(), /broken/)
      })
    })
    broken = false
    await database.query('UPDATE export_queue_leases SET held_until = 0')
    assert.equal(await queue.process(), 2)
    assert.deepEqual(came.slice(2), [
      [4, 3],
      [3, 4],
    ])
  } finally {
    await database.close()
  }
})

test('migrate() makes the tables, and close() closes what the queue has opened', async () => {
  const database = sqlite(':memory:')
  const queue = new ExportQueue({ name: 'x', exporter() {}, database })
  await queue.migrate()
  assert.deepEqual((await database.query('SELECT * FROM export_queue_entries')).rows, [])
  await queue.close()
  await database.query('SELECT 1')
  await database.close()
  const own = new ExportQueue({ name: 'x', exporter() {}, database: 'sqlite::memory:' })
  await own.process()
  await own.close()
  await assert.rejects(own.process(), { code: 'CLOSED' })
})

test('the second failure in a row at a single entry is a reason to look at it', async () => {
  const log = keptLog()
  const database = sqlite(':memory:')
  const queue = new ExportQueue<string, number>({
    database,
    name: 'out',
    every: false,
    logger: log,
    exporter() {
      throw new Error('broken')
    },
  })
  await queue.migrate()
  await database.transaction((tx) => queue.add('a', 1, tx))
  for (const told of [
    [],
    [/^wide-cache: the export queue "out" has failed again at a single entry/],
  ]) {
    await assert.rejects(queue.process(), /^Error: broken$/)
    assert.equal(log.lines.length, told.length, log.lines.join('\n'))
    for (const pattern of told) assert.match(log.lines.at(-1)!, pattern)
    await database.query('UPDATE export_queue_leases SET held_until = 0')
  }
  await queue.close()
  await database.close()
})

test('what is added after a failure is not in the next call for what failed', async () => {
  const database = sqlite(':memory:')
  const calls: string[][] = []
  const queue = new ExportQueue<string, number>({
    database,
    name: 'out',
    buckets: 1,
    every: false,
    exporter(entries) {
      calls.push(entries.map(({ key }) => key))
      throw new Error('broken')
    },
  })
  const add = (...keys: string[]) =>
    database.transaction(async (tx) => {
      for (const key of keys) await queue.add(key, 1, tx)
    })
  await queue.migrate()
  await add('first')
  await assert.rejects(queue.process(), /^Error: broken$/)
  await database.query('UPDATE export_queue_leases SET held_until = 0')
  await add('b', 'c', 'd', 'e')
  await assert.rejects(queue.process(), /^Error: broken$/)
  assert.deepEqual(calls, [['first'], ['first']])
  await queue.close()
  await database.close()
})

test('a failure is told though the database cannot note it', async () => {
  const database = sqlite(':memory:')
  let isAway = false
  const refusing = wrappedDatabase(database, {}, () => {
    if (isAway) throw new DatabaseError('SQLITE_READONLY', 'usage', 'it is read-only')
    return {}
  })
  const queue = new ExportQueue<string, number>({
    database: refusing,
    name: 'out',
    every: false,
    exporter() {
      isAway = true
      throw new Error('broken')
    },
  })
  await queue.migrate()
  await database.transaction((tx) => queue.add('a', 1, tx))
  await assert.rejects(queue.process(), /^Error: broken$/)
  await queue.close()
  await database.close()
})

test('wrong options are refused by name', () => {
  const open = (options: object) => () =>
    new ExportQueue({ name: 'x', exporter() {}, database: 'sqlite::memory:', ...options })
  const wrong: [object, RegExp][] = [
    [{ name: '' }, /option "name"/],
    [{ buckets: 1.5 }, /option "buckets" is 1.5/],
    [{ exporter: undefined }, /option "exporter"/],
    [{ combine() {} }, /option "combine" is unknown/],
    [{ valueCodec: 1 }, /option "valueCodec"/],
  ]
  for (const [options, message] of wrong) {
    assert.throws(
      open(options),
      (error) => error instanceof Error && message.test(error.message) && 'code' in error,
    )
  }
})
