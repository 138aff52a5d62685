import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../../cache/memory.js'
import { type Database, DatabaseError, type Transaction } from '../../database/database.js'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { jsonCodec } from '../../support/exact-json.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { atEachStatement } from '../../../test/orders/each-statement.js'
import { wrappedDatabase } from '../../../test/servers/wrapped.js'
import { WideCache } from '../wide-cache.js'
import {
  bytesOf,
  dropFrame,
  frameInQuarantine,
  framesInQuarantine,
  type QuarantinedFrame,
  retryFrame,
  type RowKind,
  rowsInFrame,
} from './quarantined-frames.js'
import { RowsError } from './rows.js'

const NAME = 'clicks'

const DATABASES: readonly [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

function onBoth(title: string, body: (database: Database) => Promise<void>): void {
  for (const [where, open] of DATABASES) test(`${where}: ${title}`, async () => body(await open()))
}

/** A name with one committed row, and a frame of two rows in quarantine. */
async function bench(database: Database) {
  await database.query('CREATE TABLE clicks (button TEXT)')
  let refuses = false
  const wide = new WideCache<string>({
    name: NAME,
    database,
    cache: memory(),
    collect: false,
    logger: keptLog(),
    commit: async (rows, tx) => {
      if (refuses) throw new Error('refused')
      await store(rows, tx)
    },
  })
  const drained = async (...rows: string[]): Promise<void> => {
    for (const row of rows) wide.append(row)
    await wide.flush()
    await wide.drain({ all: true })
  }
  await drained('right')
  refuses = true
  await drained('a', 'b')
  refuses = false
  const [frame] = await framesInQuarantine(database, { limit: 10 })
  assert(frame)
  return {
    database,
    frame,
    wide,
    sums: async () => {
      const { issued, committed, quarantined, lost, outstanding } = await wide.ledger()
      assert.equal(issued, committed + quarantined + lost + outstanding)
      return { issued, committed, quarantined, lost }
    },
    close: async () => {
      await wide.close()
      await database.close()
    },
  }
}

async function store(rows: readonly string[], tx: Transaction): Promise<void> {
  for (const row of rows) await tx.query('INSERT INTO clicks VALUES (?)', [row])
}

const KIND: RowKind<string> = { kind: 'rows', codec: jsonCodec(), commit: store }

async function stored(database: Database): Promise<unknown[]> {
  const { rows } = await database.query('SELECT button FROM clicks ORDER BY button')
  return rows.map(({ button }) => button)
}

onBoth('a frame is retried once, and its rows become committed ones', async (db) => {
  const { database, frame, sums, close } = await bench(db)
  const { id, name, rowCount, reason, createdAt } = frame
  assert.deepEqual([name, rowCount, reason], [NAME, 2, 'commit() threw: Error'])
  assert(createdAt > 0)
  assert.deepEqual(await sums(), { issued: 3, committed: 1, quarantined: 2, lost: 0 })
  assert.deepEqual(await frameInQuarantine(database, id), frame)
  assert.equal(await frameInQuarantine(database, id, 'other'), undefined)
  assert((await bytesOf(database, frame)).includes('"b"'))

  const both = await Promise.all([
    retryFrame(database, frame, KIND),
    retryFrame(database, frame, KIND),
  ])
  // Either may come first.
  assert.deepEqual(both.sort(), [2, undefined])
  assert.equal(await dropFrame(database, frame), undefined)
  assert.deepEqual(await sums(), { issued: 3, committed: 3, quarantined: 0, lost: 0 })
  assert.deepEqual(await stored(database), ['a', 'b', 'right'])
  assert.deepEqual(await framesInQuarantine(database, { limit: 10 }), [])
  assert.equal(await frameInQuarantine(database, id), undefined)
  await close()
})

onBoth('a frame that is retried and dropped at once is one of both', async (db) => {
  const { database, frame, sums, close } = await bench(db)
  const [retried, dropped] = await Promise.all([
    retryFrame(database, frame, KIND),
    dropFrame(database, frame),
  ])
  assert.deepEqual([retried, dropped].sort(), [2, undefined])
  const [committed, lost] = retried ? [3, 0] : [1, 2]
  assert.deepEqual(await sums(), { issued: 3, committed, quarantined: 0, lost })
  assert.deepEqual(await stored(database), retried ? ['a', 'b', 'right'] : ['right'])
  await close()
})

onBoth('a frame that is dropped is lost, once, and its writer goes on', async (db) => {
  const { database, frame, wide, sums, close } = await bench(db)
  assert.equal(await dropFrame(database, frame), 2)
  assert.equal(await dropFrame(database, frame), undefined)
  assert.deepEqual(await sums(), { issued: 3, committed: 1, quarantined: 0, lost: 2 })
  wide.append('later')
  await wide.flush()
  await wide.drain({ all: true })
  assert.deepEqual(await sums(), { issued: 4, committed: 2, quarantined: 0, lost: 2 })
  await close()
})

onBoth('a frame that is still refused stays, and nothing of it is stored', async (db) => {
  const { database, frame, sums, close } = await bench(db)
  const half = async ([first = '']: string[], tx: Transaction, error: Error): Promise<void> => {
    await store([first], tx)
    throw error
  }
  for (const error of [
    new Error('a row: s3cret'),
    new DatabaseError('ER_DATA_TOO_LONG', 'data', 'too long'),
    new DatabaseError('ECONNREFUSED', 'unreachable', 'away'),
  ]) {
    await assert.rejects(
      retryFrame(database, frame, { ...KIND, commit: (rows, tx) => half(rows, tx, error) }),
      error instanceof DatabaseError ? error : RowsError,
    )
  }
  assert.deepEqual(await sums(), { issued: 3, committed: 1, quarantined: 2, lost: 0 })
  assert.deepEqual(await stored(database), ['right'])
  assert.equal((await framesInQuarantine(database, { limit: 10 })).length, 1)
  await close()
})

onBoth('the pieces of a large frame are one frame', async (db) => {
  const { database, frame, close } = await bench(db)
  const bytes = await bytesOf(database, frame)
  await database.query('UPDATE wide_cache_quarantine SET bytes = ? WHERE id = ?', [
    bytes.subarray(0, 50),
    frame.id,
  ])
  await database.query(
    'INSERT INTO wide_cache_quarantine (name, writer, sequence, piece, row_count, reason, bytes, ' +
      "created_at) SELECT name, writer, sequence, 1, 0, '', ?, created_at " +
      'FROM wide_cache_quarantine WHERE id = ?',
    [bytes.subarray(50), frame.id],
  )
  assert.deepEqual(await framesInQuarantine(database, { name: NAME, limit: 10 }), [frame])
  assert.deepEqual(await bytesOf(database, frame), bytes)
  assert.equal(await frameInQuarantine(database, frame.id + 1), undefined)
  assert.equal(await retryFrame(database, frame, KIND), 2)
  const { rows } = await database.query('SELECT id FROM wide_cache_quarantine')
  assert.deepEqual(rows, [])
  await close()
})

onBoth('bytes that are no frame of the kind are not retried, and can be dropped', async (db) => {
  const { database, frame, sums, close } = await bench(db)
  await assert.rejects(retryFrame(database, frame, { ...KIND, kind: 'other' }), RowsError)
  const bytes = await bytesOf(database, frame)
  for (const other of [{ writer: Buffer.alloc(16, 255) }, { sequence: 99 }, { writer: null }]) {
    assert.throws(() => rowsInFrame({ ...frame, ...other }, bytes, KIND), RowsError)
  }
  assert.throws(() => rowsInFrame(frame, Buffer.concat([bytes, bytes]), KIND), RowsError)
  assert.deepEqual(rowsInFrame(frame, bytes, KIND), ['a', 'b'])
  bytes[bytes.length - 1]! ^= 1
  await database.query('UPDATE wide_cache_quarantine SET bytes = ?', [bytes])
  await assert.rejects(retryFrame(database, frame, KIND), RowsError)
  await database.query(
    'INSERT INTO wide_cache_quarantine (name, writer, sequence, piece, row_count, reason, bytes, ' +
      "created_at) VALUES (?, NULL, NULL, 0, 0, 'torn', ?, 1), (?, NULL, NULL, 1, 0, '', ?, 1)",
    [NAME, Buffer.from('torn'), NAME, Buffer.from('more')],
  )
  const [, torn, more] = await framesInQuarantine(database, { limit: 10 })
  assert(torn && more)
  await assert.rejects(retryFrame(database, torn, KIND), RowsError)
  assert.equal(await dropFrame(database, torn), 0)
  assert.deepEqual(await framesInQuarantine(database, { from: frame.id + 1, limit: 10 }), [more])
  assert.deepEqual(await sums(), { issued: 3, committed: 1, quarantined: 2, lost: 0 })
  await close()
})

onBoth('the sums of a writer that has been forgotten are found', async (db) => {
  const { database, frame, close, wide } = await bench(db)
  await wide.close()
  await database.query('UPDATE wide_cache_writers SET writer = ?', [Buffer.alloc(16)])
  assert.equal(await retryFrame(database, frame, KIND), 2)
  const { rows } = await database.query('SELECT committed, quarantined FROM wide_cache_writers')
  assert.deepEqual(rows, [{ committed: 3, quarantined: 0 }])
  await close()
})

onBoth('the sums of a writer are locked before its frame in quarantine', async (db) => {
  const { database, frame, close } = await bench(db)
  const read: string[] = []
  const watched = wrappedDatabase(database, {}, (tx) => ({
    query: (sql, values) => {
      const [, table] = /^SELECT .* FROM (\w+)/.exec(sql) ?? []
      if (table !== undefined) read.push(table)
      return tx.query(sql, values)
    },
  }))
  assert.equal(await dropFrame(watched, frame), 2)
  // As in the transactions that settle frames: those that lock in different orders deadlock.
  assert.deepEqual(read, ['wide_cache_writers', 'wide_cache_quarantine'])
  await close()
})

test('MariaDB: of two who drop the same bytes at once, one does it', async () => {
  const { database, close } = await bench(mysql(await sharedMysqlUrl()))
  const insert = () =>
    database.query(
      'INSERT INTO wide_cache_quarantine (name, writer, sequence, piece, row_count, reason, ' +
        "bytes, created_at) VALUES (?, NULL, NULL, 0, 0, 'torn', ?, 1)",
      [NAME, Buffer.from('torn')],
    )
  let torn: QuarantinedFrame | undefined
  let others: Promise<number | undefined> | undefined
  const statements = await atEachStatement(
    database,
    async (stopped) => {
      await insert()
      torn = (await framesInQuarantine(database, { limit: 10 })).at(-1)!
      others = undefined
      const dropped = await dropFrame(stopped, torn)
      if (!others) return
      assert.deepEqual([dropped, await others].sort(), [0, undefined])
    },
    () => (others = dropFrame(database, torn!)),
  )
  assert.equal(statements, 2)
  await close()
})
