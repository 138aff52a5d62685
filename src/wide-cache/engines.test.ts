import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { memory } from '../cache/memory.js'
import { Connections } from '../connections/connections.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { EngineRecorder } from './engine-recorder.js'
import { Engines } from './engines.js'
import { settingsOf } from './options.js'
import type { CloseReport } from './writer/closing.js'

const NAMES = ['site', 'site.seen', 'site.bots'] as const

class Recorder extends EngineRecorder<string> {}

/** A database and a cache that processes share, and which rows come under which name. */
function site() {
  const database = sqlite(':memory:')
  const inner = memory()
  const rows: [name: string, row: string][] = []
  const removed = new Set<string>()
  const log = keptLog()
  const open = (main = 0) => {
    const settings = settingsOf<string, unknown>({
      name: NAMES[0],
      database,
      cache: new FaultyCache(inner, () => 'none', 'shared'),
      collect: false,
      logger: log,
      removeOld: async (_, { name }) => void removed.add(name),
      async commit(some, _, { name }) {
        for (const row of some) rows.push([name, row])
      },
    })
    const engines = new Engines<string>(
      new Connections<CloseReport>('WideCache', NAMES[0], systemEnvironment),
      NAMES.map((name) => ({ ...settings, name })),
      systemEnvironment,
      main,
    )
    return { engines, recorder: new Recorder(engines) }
  }
  const all = async (table: string, columns: string): Promise<unknown[][]> =>
    (await database.query(`SELECT ${columns} FROM ${table} ORDER BY name`)).rows.map((row) =>
      Object.values(row),
    )
  return { database, rows, removed, log, open, all }
}

test('the rows of all measures go through one grid, and one drain brings them', async () => {
  const { database, rows, open, all } = site()
  const [writes, drains] = [open(), open(1)]
  for (const measure of [2, 0, 1]) writes.engines.of(measure)!.writer.append(`of ${measure}`)
  await writes.recorder.flush()
  assert.deepEqual(await all('wide_cache_names', 'name, grid_name'), [
    ['site', 'site'],
    ['site.bots', 'site'],
    ['site.seen', 'site'],
  ])
  assert.deepEqual(await all('wide_cache_grids', 'name'), [['site']])
  const { frames, committed } = await drains.recorder.drain({ all: true })
  assert.deepEqual({ frames, committed }, { frames: 3, committed: 3 })
  assert.deepEqual(rows, [
    ['site', 'of 0'],
    ['site.seen', 'of 1'],
    ['site.bots', 'of 2'],
  ])
  assert.equal((await drains.recorder.ledger()).committed, 1, 'of the measure of its figures')
  const nothing = { quarantined: 0, inCache: 0, lost: 0 }
  assert.deepEqual(await writes.recorder.close(), { ...nothing, committed: 3 })
  assert.deepEqual(await drains.recorder.close(), { ...nothing, committed: 0 })
  await database.close()
})

test('no frame of a measure is placed before SQL knows its name', async () => {
  const { database, open, all } = site()
  const [one, other] = [open(), open()]
  for (const { recorder } of [one, other]) await recorder.migrate()
  assert.deepEqual(await all('wide_cache_names', 'name'), [['site']], 'of what has no rows, none')
  // Another process uses the name for rows of another kind.
  await database.query(
    'INSERT INTO wide_cache_names (name, grid_name, kind, cell_ttl_seconds, direct_seconds, ' +
      'vanished_seconds, keep_seconds, history_days, repeat_seconds) ' +
      "VALUES ('site.seen', 'site.seen', 'clicks', 60, 60, 60, 0, 0, 0)",
  )
  const late = open()
  await assert.rejects(late.recorder.ledger(), /"site.seen" is for rows of kind "clicks"/)
  one.engines.of(1)!.writer.append('a row')
  await assert.rejects(one.recorder.flush(), /"site.seen" is for rows of kind "clicks"/)
  assert.equal((await other.recorder.drain({ all: true })).frames, 0)
  await database.query("DELETE FROM wide_cache_names WHERE name = 'site.seen'")
  await one.recorder.flush()
  await other.recorder.drain({ all: true })
  // On a slow machine its writer has committed it meanwhile.
  assert.deepEqual(await all('wide_cache_writers', 'committed'), [[1]])
  for (const { recorder } of [one, other, late]) await recorder.close()
  await database.close()
})

test('a collecting process does the chores of measures that others have begun', async () => {
  const { database, removed, open } = site()
  const [writes, collects] = [open(), open()]
  writes.engines.of(2)!.writer.append('a row')
  await writes.recorder.flush()
  collects.engines.collect('* * * * * *')
  await eventually('old rows of both are removed', () => removed.size === 2)
  assert.deepEqual([...removed].sort(), ['site', 'site.bots'])
  for (const { recorder } of [writes, collects]) await recorder.close()
  await database.close()
})
