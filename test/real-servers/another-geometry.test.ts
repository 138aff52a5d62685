/** A rolling deploy that changes the width and the layer length of a grid under its name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Activity } from '../../src/activity/activity.js'
import { createActivity } from '../../src/activity/site-activity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { uniqueName } from './recorded.js'

const VISIT_EVERY_MS = 50
const PHASE_MS = 4_000
/** Seconds of the longer of the two layers. */
const LAYER_SECONDS = 2

test('figures stay complete while processes of another geometry take over', async () => {
  const cache = `memcached://${await sharedMemcached()}`
  const database = await sharedMysqlUrl()
  const name = uniqueName()
  const log = keptLog()
  const open = (width: number, layerSeconds: number): Activity =>
    createActivity({
      name,
      cache,
      database,
      width,
      layerSeconds,
      // So few layers that a new grid is read at once.
      cellTtlSeconds: 120,
      collect: '* * * * * *',
      statsTtlSeconds: 1,
      logger: log,
    })
  let visits = 0
  /** When so many visits were in cells or in SQL. */
  const flushed: { readonly at: number; readonly visits: number }[] = []
  /** Visits come to each process in turn; the figures are read by the last. */
  const serve = async (processes: readonly Activity[]): Promise<void> => {
    const end = Date.now() + PHASE_MS
    for (let visit = 0; Date.now() < end; visit++) {
      visits++
      processes[visit % processes.length]!.record({ visitor: `v${visit}`, page: '/' })
      await delay(VISIT_EVERY_MS)
      if (visit % 10 !== 0) continue
      await Promise.all(processes.map((activity) => activity.flush()))
      flushed.push({ at: Date.now(), visits })
      const { pageViews, asOf } = await processes.at(-1)!.stats()
      // The layer of the flush itself may last longer.
      const complete = flushed.findLast(({ at }) => at < Date.parse(asOf) - LAYER_SECONDS * 1000)
      const least = complete?.visits ?? 0
      assert(pageViews >= least, `${pageViews} of ${least} views up to ${asOf}`)
    }
  }
  const [before, after] = [open(15, 1), open(20, LAYER_SECONDS)]
  const sql = mysql(database)
  try {
    await serve([before])
    await serve([before, after])
    await before.close()
    await serve([after])
    // With nothing new, what is left in the cells of both is collected.
    const served = Date.now()
    await eventually('both grids are collected up to the last visit', async () => {
      const { rows } = await sql.query(
        'SELECT (watermark + 1) * layer_seconds AS collected FROM wide_cache_grids WHERE name = ?',
        [name],
      )
      return rows.every(({ collected }) => Number(collected) * 1000 > served)
    })
    await eventually('the figures have all visits', async () => {
      const { pageViews, asOf } = await after.stats()
      return Date.parse(asOf) > served && pageViews === visits
    })
    const { committed, outstanding, lost } = await after.close().then(async () => {
      const reader = open(20, LAYER_SECONDS)
      const ledger = await reader.ledger()
      await reader.close()
      return ledger
    })
    assert.deepEqual([committed, outstanding, lost], [visits, 0, 0], log.lines.join('\n'))
    const { rows } = await sql.query('SELECT width FROM wide_cache_grids WHERE name = ?', [name])
    assert.deepEqual(rows.map(({ width }) => Number(width)).sort(), [15, 20])
  } finally {
    await Promise.all([before.close(), after.close(), sql.close()])
  }
})
