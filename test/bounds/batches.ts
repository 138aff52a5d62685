/**
 * What is read, counted or removed in batches is whole, up to the size of a batch and past it. Run
 * with `?bounds`.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { createActivity } from '../../src/activity/site-activity.js'
import { memory } from '../../src/cache/memory.js'
import { exportSums } from '../../src/cli/export.js'
import { quarantine } from '../../src/cli/quarantine.js'
import { CollisionFreeMap } from '../../src/collision-free-map/collision-free-map.js'
import { PreparedDatabase } from '../../src/connections/prepared-database.js'
import { GlobalCounter } from '../../src/counters/global-counter.js'
import { openLane } from '../../src/counters/lane-row.js'
import { ShardedCounter } from '../../src/counters/sharded-counter.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { Sequence } from '../../src/sequence/sequence.js'
import { dayText } from '../../src/support/calendar-days.js'
import { DAY_MS } from '../../src/support/clock.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { SILENT } from '../../src/support/logger.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { wrapped } from '../servers/wrapped.js'

const BATCH = 3
const SIZES = [BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 2 * BATCH + 1]
const FIRST_DAY = 20_000

const folder = temporaryFolder('batches')
const file = join(folder, 'site.db')
const database = sqlite(file)
after(async () => {
  await database.close()
  removeFolder(folder)
})
const url = `sqlite:${file}`

async function count(table: string): Promise<number> {
  const { rows } = await database.query(`SELECT COUNT(*) AS n FROM ${table}`)
  return Number(rows[0]?.['n'])
}

/** A list of `many`, from what makes each. */
function listOf<T>(many: number, make: (at: number) => T): T[] {
  return Array.from({ length: many }, (_, at) => make(at))
}

for (const many of SIZES) {
  test(`${many} frames in quarantine are dropped, each once`, async () => {
    await database.migrate()
    for (let at = 0; at < many; at++) {
      await database.query(
        'INSERT INTO wide_cache_quarantine (name, piece, row_count, reason, bytes, created_at) ' +
          "VALUES ('own', 0, 0, 'none', ?, 0)",
        [Buffer.of(at)],
      )
    }
    const log = keptLog()
    const flags = { database: url, name: undefined, json: false }
    await quarantine({ ...flags, action: { verb: 'drop', ids: 'all' } }, log, () => {})
    assert.match(log.lines[0] ?? '', new RegExp(`dropped ${many} frames with 0 rows`))
    assert.equal(await count('wide_cache_quarantine'), 0)
  })

  test(`${many} days are exported, each once and in order`, async () => {
    const name = `days-${many}`
    const site = createActivity({ name, cache: memory(), database, collect: false, logger: SILENT })
    for (let at = 0; at < many; at++) {
      site.record({ page: '/', at: (FIRST_DAY + at) * DAY_MS + 1 })
    }
    await site.flush()
    await site.drain({ all: true })
    await site.close()
    let text = ''
    const out = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) })
    const [from, to] = [dayText(FIRST_DAY), dayText(FIRST_DAY + many)]
    const unset = { by: undefined, top: undefined, n: undefined, dimension: undefined }
    const flags = { database: url, name, from, to, value: undefined, format: 'csv', ...unset }
    await exportSums(flags, SILENT, out)
    const days = text.split('\r\n').slice(1, -1)
    assert.deepEqual(
      days.map((row) => row.split(',').slice(0, 2)),
      listOf(many, (at) => [`${dayText(FIRST_DAY + at)}T00:00:00.000Z`, '1']),
    )
  })

  test(`${many} old lanes are removed, the oldest first, and no others`, async () => {
    await database.query('DELETE FROM sharded_counter_lanes')
    const now = await database.now()
    const enter = (lane: number, daysAgo: number) =>
      database.query(
        'INSERT INTO sharded_counter_lanes (lane, sequence, created_at) VALUES (?, 0, ?)',
        [Buffer.alloc(16, lane), now - daysAgo * DAY_MS],
      )
    await enter(255, 29)
    for (let at = 0; at < many; at++) await enter(at, 40 - at)
    const prepared = new PreparedDatabase(database, ['counters'], systemEnvironment)
    let left = many
    for (let opened = 1; left > 0; opened++) {
      await openLane(prepared, systemEnvironment.newId())
      left = Math.max(0, left - BATCH)
      const { rows } = await database.query(
        'SELECT lane FROM sharded_counter_lanes WHERE created_at < ? ORDER BY created_at',
        [now - 30 * DAY_MS],
      )
      const newest = listOf(left, (at) => Buffer.alloc(16, many - left + at))
      assert.deepEqual(
        rows.map(({ lane }) => lane),
        newest,
      )
      assert.equal(await count('sharded_counter_lanes'), 1 + left + opened)
    }
  })

  test(`${many} increments at once are all counted`, async () => {
    const counter = new ShardedCounter({ name: `n${many}`, database, cache: memory() })
    await Promise.all(listOf(many, (at) => counter.increment(at + 1)))
    assert.equal(await counter.get({ exact: true }), (many * (many + 1)) / 2)
    await counter.close()
  })

  test(`of ${many} updates of a key, those are combined that no bad one parks`, async () => {
    for (let bad = 0; bad < many; bad++) {
      const map = new CollisionFreeMap<string, number>({
        name: `bad-${many}-${bad}`,
        database,
        every: false,
        logger: SILENT,
        combine(_key, sum = 0, updates) {
          assert(!updates.includes(0), 'none of them is bad')
          return updates.reduce((a, b) => a + b, sum)
        },
      })
      await map.update(listOf(many, (at) => ['key', at === bad ? 0 : 1] as const))
      assert.equal(await map.process(), many)
      const parked = await map.parked()
      assert(parked >= 1 && parked <= BATCH, `${parked} are parked`)
      assert.equal((await map.get('key')) ?? 0, many - parked)
      await map.close()
    }
  })

  test(`of ${many} generations of a counter the newest three are remembered`, async () => {
    // A cache that may go back does not count: each increment opens a generation.
    const cache = wrapped(memory(), { neverGoesBack: false })
    const counterOf = (name: string) => new GlobalCounter({ name, database, cache })
    const [counter, other] = [counterOf(`g${many}`), counterOf(`other-${many}`)]
    assert.equal(await other.increment(), 1)
    for (let at = 1; at <= many; at++) assert.equal(await counter.increment(), at)
    const generations = async (name: string) => {
      const { rows } = await database.query(
        'SELECT generation FROM global_counter_generations WHERE name = ? ORDER BY generation',
        [name],
      )
      return rows.map(({ generation }) => generation)
    }
    const kept = Math.min(BATCH, many)
    const newest = listOf(kept, (at) => many - kept + 1 + at)
    assert.deepEqual(await generations(`g${many}`), newest)
    assert.deepEqual(await generations(`other-${many}`), [1])
    await counter.close()
    await other.close()
  })

  test(`${many} callers at once get numbers in the order of their calls`, async () => {
    const sequence = new Sequence({ name: `n${many}`, database, cache: memory(), block: 1 })
    const numbers = await Promise.all(listOf(many, () => sequence.next()))
    assert.deepEqual(
      numbers,
      listOf(many, (at) => at + 1),
    )
    await sequence.close()
  })
}
