/**
 * A database restored from a backup and its ledger, as docs/backup.md describes them, while the
 * processes of the site go on. Time is virtual.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Cache } from '../../src/cache/cache.js'
import { memory } from '../../src/cache/memory.js'
import type { Database, SqlRow } from '../../src/database/database.js'
import { namespaceOf } from '../../src/database/identity.js'
import { shifted } from '../../src/database/shifted.fixture.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { Sequence } from '../../src/sequence/sequence.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { ManualClock } from '../../src/support/manual-clock.fixture.js'
import { wrapped } from '../servers/wrapped.js'
import { blocksIn } from '../docs/blocks.js'
import { assertRecorded, createRecorded, openRecorded, type Recorded, rowsOf } from './recorded.js'

const CELL_TTL_SECONDS = 120
const CONFIRM_SECONDS = 28
/** Statements that SQLite is given time for in a virtual second, however slow the machine is. */
const STATEMENTS_A_SECOND = 10

/** A cache that several processes share, in this process's memory. */
function shared(cache: Cache): Cache {
  return wrapped(cache, { scope: 'shared' })
}

/** Keeps all rows of a database. The function returned brings exactly these back. */
async function backUp(database: Database): Promise<() => Promise<void>> {
  const { rows: tables } = await database.query(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  )
  const kept: [table: string, rows: readonly SqlRow[]][] = []
  for (const { name } of tables) {
    kept.push([String(name), (await database.query(`SELECT * FROM ${String(name)}`)).rows])
  }
  return () =>
    database.transaction(async (tx) => {
      for (const [table, rows] of kept) {
        await tx.query(`DELETE FROM ${table}`)
        for (const row of rows) {
          const values = Object.values(row)
          await tx.query(
            `INSERT INTO ${table} VALUES (${values.map(() => '?').join(', ')})`,
            values,
          )
        }
      }
    })
}

for (const restarted of [false, true]) {
  const which = restarted ? 'a collector that starts then' : 'the collector that was there'
  test(`a restored database has all but what came between, by ${which}`, async () => {
    const clock = new ManualClock(Date.now())
    const real = sqlite(':memory:')
    const database = shifted(real, () => clock.now() - Date.now())
    const cache = shared(memory({ now: clock.elapsed }))
    const log = keptLog()
    const open = () =>
      openRecorded(
        { cache, database, collect: false },
        { confirmSeconds: CONFIRM_SECONDS, cellTtlSeconds: CELL_TTL_SECONDS, logger: log },
        { ...systemEnvironment, clock },
      )
    await createRecorded(real)
    const [living, ended] = [open(), open()]
    let collector: typeof living | undefined = open()
    let draining: Promise<unknown> | undefined
    const passSecond = async (): Promise<void> => {
      await clock.advance(1000)
      // Each waits for its turn behind those of the processes.
      for (let i = 0; i < STATEMENTS_A_SECOND; i++) await real.query('SELECT 1')
    }
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        await passSecond()
        draining ??= collector?.drain().finally(() => (draining = undefined))
      }
      while (draining) await passSecond()
    }
    /** Passes time for it, too. */
    const close = async (wide: typeof living): Promise<void> => {
      const closing = wide.close()
      await pass(3)
      await closing
    }
    const record = async (wide: typeof living, rows: readonly Recorded[]): Promise<void> => {
      for (const row of rows) wide.append(row)
      await wide.flush()
    }
    const ledger = async () => {
      const { issued, committed, outstanding, lost } = await living.ledger()
      return { issued, committed, outstanding, lost }
    }
    await record(living, rowsOf(0, 0, 10))
    await pass(20)
    const restore = await backUp(real)
    // Confirmed after the backup, by a process that goes on and by one that ends.
    await record(living, rowsOf(0, 10, 30))
    await record(ended, rowsOf(1, 0, 5))
    await pass(20)
    await close(ended)
    assert.deepEqual(await ledger(), { issued: 35, committed: 35, outstanding: 0, lost: 0 })

    // Waiting in the cache when the backup is restored.
    await record(living, rowsOf(0, 30, 70))
    const before = await namespaceOf(real)
    if (restarted) {
      const old = collector
      collector = undefined
      await close(old)
    }
    await restore()
    collector ??= open()
    await record(living, rowsOf(0, 70, 75))
    await pass(CONFIRM_SECONDS + 15)
    assert.equal(log.matching(/another database uses the cache keys/).length, 1)
    assert.notDeepEqual(await namespaceOf(real), before)
    const there = [...rowsOf(0, 0, 10), ...rowsOf(0, 30, 75)]
    await assertRecorded(real, there)
    // The process that goes on names what is missing; that of the ended one is in no report.
    assert.deepEqual(await ledger(), { issued: 75, committed: 55, outstanding: 20, lost: 0 })

    await pass(CELL_TTL_SECONDS)
    await record(living, rowsOf(0, 75, 76))
    // Without collectors of its own the name has no chores, which move its safe clock.
    const aged = 4 * CELL_TTL_SECONDS + 8 * 60 + 20
    await pass(aged)
    await real.query('UPDATE wide_cache_names SET safe_at = safe_at + ?', [aged * 1000])
    await record(living, rowsOf(0, 76, 77))
    await pass(20)
    assert.deepEqual(await ledger(), { issued: 77, committed: 57, outstanding: 0, lost: 20 })
    await assertRecorded(real, [...there, ...rowsOf(0, 75, 77)])
    const last = collector
    collector = undefined
    await Promise.all([close(living), close(last)])
    await real.close()
  })
}

/** The statement of docs/backup.md that raises a sequence. */
function raising(): string {
  const page = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8')
  const [statement = '', ...more] = blocksIn('docs/backup.md', page)
    .filter(({ language, text }) => language === 'sql' && text.includes('sequence_generations'))
    .map(({ text }) => text)
  assert.deepEqual(more, [])
  return statement
}

for (const cached of [true, false]) {
  test(`a sequence is raised as printed, ${cached ? 'with' : 'without'} a cache`, async () => {
    const database = sqlite(':memory:')
    const cache = cached ? { cache: shared(memory()) } : {}
    const open = () => new Sequence({ name: 'orders', database, ...cache, block: 10 })
    const first = open()
    assert.equal(await first.next(), 1)
    const restore = await backUp(database)
    const given = new Set<number>()
    for (let i = 0; i < 50; i++) given.add(await first.next())
    await first.close()
    await restore()
    await database.query(raising())
    const second = open()
    const next = [await second.next(), await second.next()]
    assert.deepEqual(next, [5_000_001, 5_000_002])
    assert(next.every((number) => !given.has(number)))
    await second.close()
    await database.close()
  })
}
