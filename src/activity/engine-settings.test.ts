/** What processes with other options agree on, in SQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { WITH_GONE } from '../page-views/measures.js'
import { systemEnvironment } from '../support/environment.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { activityRows } from './engine-settings.js'
import { activitySettings } from './options.js'
import { createActivity } from './site-activity.js'

test('SQL has the longest times that any process has given, of each measure', async () => {
  const database = sqlite(':memory:')
  for (const [retentionHours, historyDays] of [
    [30, 2],
    [240, 9],
    [1, 1],
  ] as const) {
    const cache = memory()
    const own = { database, cache, logger: SILENT, retentionHours, historyDays }
    const activity = createActivity({ ...own, collect: false })
    activity.record({ page: '/' })
    await activity.flush()
    await activity.drain({ all: true })
    await activity.close()
  }
  const { rows } = await database.query('SELECT keep_seconds, history_days FROM wide_cache_names')
  assert(rows.length > 0)
  for (const row of rows) assert.deepEqual(row, { keep_seconds: 240 * 3_600, history_days: 9 })
  await database.close()
})

test('rows are kept of pages that people have been sent, or have seen, alone', () => {
  const rows = activityRows(activitySettings({ keep: 'rows' }), systemEnvironment)
  const logger = new BurstLogger(SILENT, () => 0)
  const keeps = WITH_GONE.map((one) => rows.engineOf(one, logger).nameSettings?.keep?.value)
  assert.deepEqual(keeps, ['rows', 'rows', 'sums', 'sums'])
})
