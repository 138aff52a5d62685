import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, SqlRow } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { HOUR_MS } from '../support/clock.js'
import { hitsRows } from './engine-settings.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { enterName } from '../wide-cache/ledger/name-settings.js'
import { VIEWINGS } from './commit.js'
import type { HitsSettings } from './options.js'

const NOW = Date.UTC(2026, 0, 2, 12)

const SETTINGS = {
  name: 'threads',
  gridName: 'hits.threads',
  count: 'served',
  keepSeconds: 60,
} as unknown as HitsSettings

/** A database with old hours, and with more old viewings than one call removes, or with none. */
function database(hasViewings: boolean) {
  const removed = { viewings: 0, hours: 0 }
  const query = async (sql: string) => {
    let rows: SqlRow[] = []
    if (sql.startsWith('SELECT window_start') && hasViewings) {
      rows = [{ window_start: 1_000, viewing: Buffer.alloc(16) }]
    } else if (sql.startsWith('SELECT MIN(hour)')) rows = [{ hour: NOW / HOUR_MS - 1_000 }]
    if (sql.startsWith('DELETE FROM hits_viewings')) removed.viewings++
    if (sql.startsWith('DELETE FROM hits_hours')) removed.hours++
    return { rows, affectedRows: 1 }
  }
  return { removed, database: { query } as unknown as Database }
}

test('old hours are removed in each run, however many viewings are old', async () => {
  const { removeOld } = hitsRows(SETTINGS).engineOf('served', new BurstLogger(SILENT, () => 0))
  for (const hasViewings of [true, false]) {
    const { removed, database: old } = database(hasViewings)
    assert.equal(await removeOld!(old, { now: NOW } as never), true)
    assert.equal(removed.hours, 1)
    assert.equal(removed.viewings > 1, hasViewings)
  }
})

test('viewings are kept for the longest time that any process has given', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const seconds = { cellTtlSeconds: 60, directSeconds: 75, vanishedSeconds: 60 }
  const nameSettings = { keepSeconds: { value: 7_200, counts: 'longest' } } as const
  await enterName(database, { name: 'hits.threads', kind: 'hits', ...seconds, nameSettings })
  await VIEWINGS.insert(database, [['threads', NOW - HOUR_MS, Buffer.alloc(16), 1]])
  const { removeOld } = hitsRows(SETTINGS).engineOf('served', new BurstLogger(SILENT, () => 0))
  for (const [hours, left] of [
    [0, 1],
    [2, 0],
  ] as const) {
    await removeOld!(database, { now: NOW + hours * HOUR_MS } as never)
    const { rows } = await database.query('SELECT COUNT(*) AS n FROM hits_viewings')
    assert.deepEqual(rows, [{ n: left }], `after ${hours} h`)
  }
  await database.close()
})
