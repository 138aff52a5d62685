import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { type Database, DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { createHits } from '../hits/item-hits.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { SILENT } from '../support/logger.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { collect } from './collect.js'
import { DOCTOR_KIND } from './doctor/whole-way.js'

const UNSET = {
  name: undefined,
  width: undefined,
  layerSeconds: undefined,
  drainAfterLayers: undefined,
  cellTtlSeconds: undefined,
  retentionHours: undefined,
  listen: undefined,
  module: undefined,
}

test('a longer lifetime of cells starts a collector anew, and the old one ends', async () => {
  const database = sqlite(':memory:')
  // The command closes its database and its cache; these serve the sites, too.
  const left = wrapped(database, { close: async () => undefined })
  const store = memory()
  const shared = { scope: 'shared', close: async () => undefined } as const
  const cache = wrapped(store, shared)
  let asked = 0
  const collectors = wrapped(store, { ...shared, get: (key) => (asked++, store.get(key)) })
  const options = { database: left, cache, collect: false, logger: SILENT } as const
  // Both shorter than by default.
  const kept = { retentionHours: 2, historyDays: 3 }
  const activity = createActivity({ ...options, ...kept, name: 'site' })
  const hits = createHits({ ...options, name: 'threads' })
  const commit = async () => undefined
  const rows = new WideCache<number>({ ...options, name: 'own', kind: 'clicks', commit })
  const doctor = new WideCache<number>({ ...options, name: 'doctor.1', kind: DOCTOR_KIND, commit })
  activity.record({ page: '/' })
  hits.record('a')
  rows.append(1)
  doctor.append(1)
  const all = [activity, hits, rows, doctor]
  for (const one of all) {
    await one.migrate()
    await one.flush()
  }

  const log = keptLog()
  const stop = new AbortController()
  const asks: string[] = []
  const runs = { begun: 0, mayEnd: (): void => undefined }
  const mayEnd = new Promise<void>((resolve) => (runs.mayEnd = resolve))
  const own = wrapped(left, {
    query: (sql, values) => {
      asks.push(sql)
      return database.query(sql, values)
    },
    transaction: async (work) => {
      runs.begun++
      await mayEnd
      return database.transaction(work)
    },
  })
  const given = { ...UNSET, cache: collectors, database: own, collect: '* * * * * *' }
  const ended = collect(given as never, log, stop.signal)
  const begun = () => log.matching(/collecting "/)
  await eventually('all are looked at, and drained', () => begun().length >= 3 && runs.begun >= 2)
  await database.query(
    "UPDATE wide_cache_names SET cell_ttl_seconds = cell_ttl_seconds + 60 WHERE name = 'site'",
  )
  const looks = () => asks.filter((sql) => / FROM wide_cache_names /.test(sql)).length
  const looked = looks()
  await eventually('it looks again', () => looks() > looked)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(begun().length, 3, 'the run that has begun is waited for')
  runs.mayEnd()
  await eventually('the name is collected anew', () => begun().length === 4)
  const rights = asks.filter((sql) => sql.startsWith('DELETE FROM wide_cache_writers WHERE 1 = 0'))
  assert.equal(rights.length, 1, 'rights are looked at once')
  assert.deepEqual(begun(), [
    'wide-cache: collecting "hits.threads" (hits)',
    begun()[1],
    'wide-cache: collecting "site" (activity)',
    'wide-cache: collecting "site" (activity)',
  ])
  assert.match(begun()[1]!, /^wide-cache: not collecting "own": "own" has rows of kind "clicks"/)
  assert.deepEqual(log.matching(/doctor/), [])
  stop.abort()
  await ended
  const before = asked
  assert(before > 0)
  // Longer than all of two runs of a collector that was left.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  assert.equal(asked, before)
  const { keepSeconds, historyDays } = (await readNameSettings(database, 'site'))!
  assert.deepEqual([keepSeconds, historyDays], [7_200, 3], 'kept as long as the site has it')
  for (const one of all) await one.close()
  await database.close()
})

test('a missing right ends it, also where the database was away as it first asked', async () => {
  const database = sqlite(':memory:')
  const stop = new AbortController()
  const away = new DatabaseError('ECONNREFUSED', 'unreachable', 'connect ECONNREFUSED')
  const refused = new DatabaseError('ER_TABLEACCESS_DENIED_ERROR', 'usage', 'DELETE is denied')
  const answers = [away, refused]
  let looks = 0
  const kept = wrapped(database, {
    async query(sql, values) {
      const error = sql.startsWith('DELETE FROM wide_cache_writers') && answers.shift()
      if (error) throw error
      // It goes on to the names only if no right is missing.
      if (/ FROM wide_cache_names /.test(sql) && ++looks > 0) stop.abort()
      return database.query(sql, values)
    },
    close: async () => undefined,
  })
  const shared = { scope: 'shared', close: async () => undefined } as const
  const given = { ...UNSET, cache: wrapped(memory(), shared), database: kept, collect: '* * * * *' }
  const log = keptLog()
  await assert.rejects(collect(given as never, log, stop.signal), refused)
  assert.deepEqual([looks, answers], [0, []])
  assert.match(log.lines.join('\n'), /reading what to collect from the database failed/)
  await database.close()
})

/** Runs the command until `replaced` stops it. Returns what it says that it collects. */
async function collected(
  replaced: (database: Database, stop: AbortController) => Partial<Database>,
): Promise<readonly string[]> {
  const database = sqlite(':memory:')
  const shared = { scope: 'shared', close: async () => undefined } as const
  const cache = wrapped(memory(), shared)
  const open = wrapped(database, { close: async () => undefined })
  const site = createActivity({ database: open, cache, collect: false, logger: SILENT })
  site.record({ page: '/' })
  await site.flush()
  await site.close()
  const stop = new AbortController()
  const own = wrapped(open, replaced(database, stop))
  const log = keptLog()
  await collect(
    { ...UNSET, cache, database: own, collect: '* * * * * *' } as never,
    log,
    stop.signal,
  )
  // What goes on regardless.
  await new Promise((resolve) => setTimeout(resolve, 100))
  await database.close()
  return log.matching(/ collecting "/)
}

test('a stop while it looks for names begins no collector', async () => {
  let looks = 0
  const lines = await collected((database, stop) => ({
    async query(sql, values) {
      const answer = await database.query(sql, values)
      if (/FROM wide_cache_names /.test(sql) && ++looks > 0) stop.abort()
      return answer
    },
  }))
  assert(looks > 0)
  assert.deepEqual(lines, [])
})

test('a run that has begun ends before the database is closed', async () => {
  const asked: string[] = []
  const lines = await collected((database, stop) => ({
    async query(sql, values) {
      asked.push(sql)
      return database.query(sql, values)
    },
    async transaction(work) {
      stop.abort()
      await new Promise((resolve) => setTimeout(resolve, 50))
      asked.push('a transaction')
      return database.transaction(work)
    },
    close: async () => void asked.push('closed'),
  }))
  assert.deepEqual(lines, ['wide-cache: collecting "activity" (activity)'])
  assert(asked.includes('a transaction'))
  assert.equal(asked.indexOf('closed'), asked.length - 1)
})
