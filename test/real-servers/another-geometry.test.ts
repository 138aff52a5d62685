/** A rolling deploy that changes the width and the layer length of a grid under its name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Activity, createActivity } from '../../src/activity/activity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/fixtures.suite.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { uniqueName } from './recorded.js'

const VISIT_EVERY_MS = 50
const PHASE_MS = 4_000
const BUSY_MS = 1_000
/** Two layers of two seconds, a collecting period and the TTL of the figures, twice. */
const MOST_BEHIND_MS = 14_000

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
  const times: number[] = []
  const behind: number[] = []
  /** Visits come to each process in turn; the figures are read by the last. */
  const serve = async (processes: readonly Activity[]): Promise<void> => {
    const end = Date.now() + PHASE_MS
    for (let visit = 0; Date.now() < end; visit++) {
      times.push(Date.now())
      processes[visit % processes.length]!.record({ visitor: `v${visit}`, page: '/' })
      await delay(VISIT_EVERY_MS)
      if (visit % 10 !== 0) continue
      const { pageViews, asOf } = await processes.at(-1)!.stats()
      behind.push(Date.now() - Date.parse(asOf))
      // Busy machines place a frame late.
      const complete = times.filter((time) => time < Date.parse(asOf) - BUSY_MS).length
      assert(pageViews >= complete, `${pageViews} of ${complete} views up to ${asOf}`)
    }
  }
  const [before, after] = [open(15, 1), open(20, 2)]
  const sql = mysql(database)
  try {
    await serve([before])
    await serve([before, after])
    await before.close()
    await serve([after])
    // With nothing new, what is left in the cells of both is collected.
    const { asOf } = await after.stats()
    behind.push(Date.now() - Date.parse(asOf))
    assert(Math.max(...behind.slice(-10)) < MOST_BEHIND_MS, `behind by ${behind.join(', ')} ms`)
    const { committed, outstanding, lost } = await after.close().then(async () => {
      const reader = open(20, 2)
      const ledger = await reader.ledger()
      await reader.close()
      return ledger
    })
    assert.deepEqual([committed, outstanding, lost], [times.length, 0, 0], log.lines.join('\n'))
    const { rows } = await sql.query('SELECT width FROM wide_cache_grids WHERE name = ?', [name])
    assert.deepEqual(rows.map(({ width }) => Number(width)).sort(), [15, 20])
  } finally {
    await Promise.all([before.close(), after.close(), sql.close()])
  }
})
