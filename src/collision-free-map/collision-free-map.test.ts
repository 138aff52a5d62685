import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import { mysql } from '../database/mysql/mysql.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { ExportQueue } from '../export-queue/export-queue.js'
import { keptLog } from '../support/kept-log.fixture.js'
import type { Logger } from '../support/logger.js'
import { CollisionFreeMap } from './collision-free-map.js'
import { mapSuite } from './collision-free-map.suite.js'

const folder = temporaryFolder('collision-free-map')
after(() => removeFolder(folder))
let files = 0

mapSuite({ name: 'SQLite', fresh: async () => `sqlite:${join(folder, `${files++}.db`)}` })
mapSuite({ name: 'MariaDB', fresh: sharedMysqlUrl })
mapSuite({ name: 'PostgreSQL', fresh: sharedPostgresUrl })

const add = (_: string, current: number | undefined, updates: readonly number[]): number =>
  updates.reduce((a, b) => a + b, current ?? 0)

test('an update of nothing asks nothing of the database', async () => {
  const database = mysql('mysql://root@127.0.0.1:1/none')
  const map = new CollisionFreeMap<string, number>({
    database,
    name: 'none',
    every: false,
    combine: add,
  })
  await map.update([])
  await map.close()
  await database.close()
})

test('MariaDB: processing waits for no open transaction, and misses no late update', async () => {
  const database = mysql(await sharedMysqlUrl())
  try {
    const map = new CollisionFreeMap<string, number>({
      database,
      name: 'late',
      buckets: 1,
      every: false,
      combine: (key, current, updates) => add(key, current, updates) || (undefined as never),
    })
    await map.migrate()
    await map.update([
      ['a', 1],
      ['gone', 1],
    ])
    await map.process()
    await database.transaction(async (tx) => {
      await map.update(
        [
          ['a', 10],
          ['gone', 1],
        ],
        tx,
      )
      // Behind the map's own hook: the transaction has inserted its updates, and goes on.
      tx.beforeCommit(async () => {
        await map.update([
          ['a', 100],
          ['gone', -1],
        ])
        await map.update(Array.from({ length: 20 }, (_, i) => [`k${i}`, 1]))
        // If a statement of it read our row as one to be locked, it would wait for us, and we for
        // it.
        assert.equal(await map.process(), 22)
        assert.equal(await map.get('a'), 101)
      })
    })
    assert.deepEqual([await map.get('a'), await map.process(), await map.get('a')], [111, 2, 111])
  } finally {
    await database.close()
  }
})

test('MariaDB: writers do not wait for a processor that takes its time', async () => {
  const database = mysql(await sharedMysqlUrl())
  try {
    let updated = 0
    const map: CollisionFreeMap<string, number> = new CollisionFreeMap<string, number>({
      database,
      name: 'slow',
      combine: add,
      async onUpdate() {
        // Its transaction is open, with locks on the values of both keys, and the queued rows
        // deleted.
        for (; updated < 20; updated++) {
          await map.update([
            ['a', 1],
            ['b', 1],
          ])
        }
      },
    })
    await map.update([
      ['a', 1],
      ['b', 1],
    ])
    await map.process()
    await map.process()
    // It is called again where its transaction is.
    assert(updated >= 20)
    assert.equal(await map.get('a'), updated + 1)
  } finally {
    await database.close()
  }
})

test('what JSON would keep nothing of is refused, as a key and as a value', async () => {
  const map = new CollisionFreeMap<unknown, unknown>({
    name: 'x',
    combine: (_, current, updates) => updates.at(-1) ?? current,
    database: 'sqlite::memory:',
    every: false,
  })
  try {
    for (const empty of [
      new Map([[1, 2]]),
      new Set([1]),
      [new Set()],
      { a: new Map() },
      /x/,
      new Error('x'),
      Promise.resolve(),
      new Date(0),
    ]) {
      await assert.rejects(map.update([[empty, 1]]), {
        name: 'TypeError',
        message: / is a (Map|Set|RegExp|Error|Promise|Date), which JSON cannot represent; allowed/,
      })
      await assert.rejects(map.update([['a', empty]]), TypeError)
      await assert.rejects(map.get(empty), TypeError)
    }
    class Point {
      x = 1
    }
    for (const fine of [{}, [], { a: [{}] }, Object.create(null), new Point()]) {
      await map.update([[fine, 1]])
    }
    assert.equal(await map.process(), 5)
  } finally {
    await map.close()
  }
})

test('wrong options are refused by name', () => {
  const combine = (): number => 1
  const open = (options: object) => () =>
    new CollisionFreeMap({ name: 'x', combine, database: 'sqlite::memory:', ...options })
  const wrong: [object, RegExp][] = [
    [{ name: 'a b' }, /option "name" is "a b"/],
    [{ name: undefined }, /option "name"/],
    [{ buckets: 0 }, /option "buckets" is 0; allowed: a whole number from 1 to 1000/],
    [{ combine: 3 }, /option "combine" is 3/],
    [{ onUpdate: true }, /option "onUpdate"/],
    [{ keyCodec: {} }, /option "keyCodec"/],
    [{ buckets: 1001 }, /option "buckets" is 1001/],
    [{ keyCodec: { encode() {} } }, /option "keyCodec" is .*; allowed: an object with encode/],
    [{ keyCodec: { decode() {} } }, /option "keyCodec"/],
    [{ keyCodec: 'json' }, /option "keyCodec" is "json"/],
    [{ valueCodec: Object.assign(() => 1, { encode() {}, decode() {} }) }, /option "valueCodec"/],
    [{ valueCodec: null }, /option "valueCodec"/],
    [{ logger: {} }, /option "logger"/],
    [{ bucket: 3 }, /option "bucket" is unknown/],
    [{ database: 'oracle:x' }, /option "database"/],
    [{ every: 5 }, /option "every" is 5; allowed: a whole number from 10 to 86400000 milliseconds/],
    [{ every: true }, /option "every" is true; allowed: milliseconds, a cron line such as/],
    [{ every: 'often' }, /option "every" is "often"; allowed: milliseconds/],
  ]
  for (const [options, message] of wrong) {
    assert.throws(
      open(options),
      (error) => error instanceof Error && message.test(error.message) && 'code' in error,
    )
  }
  assert.throws(() => new CollisionFreeMap(undefined as never), TypeError)
})

test('migrate() makes the tables', async () => {
  const database = sqlite(':memory:')
  await new CollisionFreeMap<string, number>({ database, name: 'x', combine: add }).migrate()
  assert.deepEqual((await database.query('SELECT * FROM collision_free_map_values')).rows, [])
  await database.close()
})

test('whichever method comes first makes the tables', async () => {
  const first: ((map: CollisionFreeMap<string, number>) => Promise<unknown>)[] = [
    (map) => map.update([['a', 1]]),
    (map) => map.process(),
    (map) => map.get('a'),
    (map) => map.parked(),
  ]
  for (const use of first) {
    const map = new CollisionFreeMap<string, number>({
      database: 'sqlite::memory:',
      name: 'x',
      combine: add,
    })
    await use(map)
    await map.close()
  }
})

test('close() closes what the map has opened and nothing else, and is idempotent', async () => {
  const own = new CollisionFreeMap<string, number>({
    database: `sqlite:${join(folder, 'own.db')}`,
    name: 'x',
    combine: add,
  })
  await own.update([['a', 1]])
  await Promise.all([own.close(), own.close()])
  await assert.rejects(own.get('a'), { code: 'CLOSED' })
  const database = mysql(await sharedMysqlUrl())
  const given = new CollisionFreeMap<string, number>({ database, name: 'x', combine: add })
  await given.close()
  assert.deepEqual((await database.query('SELECT 1 AS one')).rows, [{ one: 1 }])
  await database.close()
})

test('maps and export queues tell their own logger what of a connection string is ignored', () => {
  const database = 'mysql://wide:s3cret@127.0.0.1/site?colour=blue'
  for (const make of [
    (logger: Logger) =>
      new CollisionFreeMap<string, number>({
        database,
        name: 'x',
        every: false,
        combine: add,
        logger,
      }),
    (logger: Logger) =>
      new ExportQueue({ database, name: 'x', every: false, exporter() {}, logger }),
  ]) {
    const log = keptLog()
    make(log)
    assert.equal(log.lines.length, 1)
    assert.match(log.lines[0]!, /ignores: colour/)
  }
})

test('a key with many updates takes those there were, however busily others add more', async () => {
  const database = sqlite(':memory:')
  const PORTION = 2_000
  let [isBusy, portions] = [true, 0]
  const busy = wrappedDatabase(database, {}, (tx) => ({
    async query(sql, values) {
      const answer = await tx.query(sql, values)
      // Others commit as many updates again before the next portion.
      if (isBusy && sql.includes('hash = ?') && sql.startsWith('SELECT id') && portions++ < 3) {
        await tx.query(
          'INSERT INTO collision_free_map_queue (map, hash, map_key, map_value) ' +
            'SELECT map, hash, map_key, map_value FROM collision_free_map_queue ' +
            `ORDER BY id LIMIT ${PORTION}`,
        )
      }
      return answer
    },
  }))
  const map = new CollisionFreeMap<string, number>({
    database: busy,
    name: 'busy',
    buckets: 1,
    every: false,
    combine: add,
  })
  const updates = Array.from({ length: PORTION + 1 }, (): [string, number] => ['hot', 1])
  await map.update(updates)
  assert.equal(await map.process(), PORTION + 1)
  isBusy = false
  assert.equal(await map.process(), portions * PORTION)
  assert.equal(await map.get('hot'), (portions + 1) * PORTION + 1)
  await database.close()
})
