import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { removeOldEntries } from './retention.js'
import { enterName } from './name-settings.js'
import { ledgerReport } from './report.js'
import { wrapped } from '../../../test/servers/wrapped.js'

const DAY_MS = 24 * 3600 * 1000
const NOW = 1_000 * DAY_MS
const id = (byte: number): Buffer => Buffer.alloc(16, byte)

test('writers older than 30 days are forgotten, and nothing else is', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  await enterName(database, {
    name: 'hits',
    kind: 'rows',
    cellTtlSeconds: 60,
    directSeconds: 75,
    vanishedSeconds: 60,
    nameSettings: {},
  })
  const left = async (table: string, column: string): Promise<unknown[]> =>
    (
      await database.query(`SELECT name, ${column} AS of FROM ${table} ORDER BY name, ${column}`)
    ).rows.map(({ name, of }) => `${String(name)} ${Buffer.isBuffer(of) ? of[0] : String(of)}`)
  for (const [name, writer, age] of [
    ['hits', 1, 31],
    ['hits', 2, 29],
    ['other', 1, 31],
    ['other', 3, 1],
  ] as const) {
    const seen = NOW - age * DAY_MS
    await database.query(
      'INSERT INTO wide_cache_writers ' +
        '(name, writer, issued, committed, duplicate, quarantined, dropped, last_seen) ' +
        'VALUES (?, ?, 10, 6, 2, 1, 5, ?)',
      [name, id(writer), seen],
    )
    await database.query(
      'INSERT INTO wide_cache_ranges ' +
        '(name, writer, first_sequence, last_sequence, issued, row_count) ' +
        'VALUES (?, ?, 5, 6, 0, 2)',
      [name, id(writer)],
    )
    await database.query(
      'INSERT INTO wide_cache_quarantine ' +
        '(name, writer, sequence, piece, row_count, reason, bytes, created_at) ' +
        'VALUES (?, ?, ?, 0, 1, ?, ?, ?)',
      [name, id(writer), writer, 'x', id(0), seen],
    )
    await database.query(
      'INSERT INTO wide_cache_grids ' +
        '(id, name, width, layer_seconds, private_to, watermark, moved_at, used_at) ' +
        'VALUES (?, ?, ?, 1, ?, 0, 0, ?)',
      [id(10 * writer + name.length), name, writer, id(0), seen],
    )
  }
  const before = await ledgerReport(database, 'hits', () => undefined)
  for (let again = 0; again < 2; again++) {
    assert.equal(await removeOldEntries(database, 'hits', NOW), false, 'there is no more')
    assert.deepEqual(await left('wide_cache_writers', 'writer'), [
      'hits 0',
      'hits 2',
      'other 1',
      'other 3',
    ])
    assert.deepEqual(await left('wide_cache_ranges', 'writer'), ['hits 2', 'other 1', 'other 3'])
    assert.deepEqual(await left('wide_cache_quarantine', 'sequence'), [
      'hits 2',
      'other 1',
      'other 3',
    ])
    assert.deepEqual(await left('wide_cache_grids', 'width'), ['hits 2', 'other 1', 'other 3'])
    assert.deepEqual(
      await ledgerReport(database, 'hits', () => undefined),
      { ...before, owed: 3, lost: 3 },
      'totals do not fall, and what a forgotten writer owed is lost',
    )
  }
  await database.close()
})

test('a writer that comes back while old ones are forgotten keeps its ranges', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  await database.query(
    'INSERT INTO wide_cache_writers (name, writer, issued, last_seen) VALUES (?, ?, 3, 0)',
    ['hits', id(1)],
  )
  await database.query(
    'INSERT INTO wide_cache_ranges ' +
      '(name, writer, first_sequence, last_sequence, issued, row_count) VALUES (?, ?, 2, 2, 2, 1)',
    ['hits', id(1)],
  )
  const lively = wrapped(database, {
    transaction: async (work) => {
      await database.query('UPDATE wide_cache_writers SET last_seen = ?', [NOW])
      return database.transaction(work)
    },
  })
  await removeOldEntries(lively, 'hits', NOW)
  const { rows } = await database.query('SELECT writer, first_sequence FROM wide_cache_ranges')
  assert.deepEqual(rows, [{ writer: id(1), first_sequence: 2 }])
  await database.close()
})
