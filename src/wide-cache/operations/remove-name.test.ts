import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cache } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import { namespaced } from '../../connections/namespaced-cache.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { systemEnvironment } from '../../support/environment.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { WideCache } from '../wide-cache.js'
import { removeName } from './remove-name.js'

/** A cache that processes share, as far as they can tell, and the keys that were written to it. */
function sharedCache(): { cache: Cache; keys: Set<string> } {
  const keys = new Set<string>()
  const cache = new Proxy(memory(), {
    get: (target, property) => {
      if (property === 'scope') return 'shared'
      const method = Reflect.get(target, property) as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        if (['set', 'add', 'append'].includes(String(property))) keys.add(String(args[0]))
        return method.apply(target, args)
      }
    },
  })
  return { cache, keys }
}

test('all rows and cells of a name are removed, and none of another', async () => {
  const database = sqlite(':memory:')
  const { cache, keys } = sharedCache()
  const open = (name: string) =>
    new WideCache<string>({
      name,
      database,
      cache,
      collect: false,
      width: 2,
      logger: keptLog(),
      commit: async (rows) => {
        if (rows.includes('bad')) throw new Error('refused')
      },
    })
  const thrown = [open('kept'), open('thrown')]
  for (const wide of thrown) {
    for (const row of ['good', 'bad', 'young']) {
      wide.append(row)
      await wide.flush()
      if (row !== 'young') await wide.drain({ all: true })
    }
    await wide.drain()
  }
  const count = async (): Promise<number[]> =>
    Promise.all(
      ['names', 'grids', 'writers', 'quarantine'].map(
        async (table) => (await database.query(`SELECT 1 FROM wide_cache_${table}`)).rows.length,
      ),
    )
  const before = await count()
  assert(
    before.every((rows) => rows >= 2 && rows % 2 === 0),
    String(before),
  )
  const part = namespaced(cache, {
    database,
    environment: systemEnvironment,
    logger: keptLog(),
  })
  await removeName(database, part, 'thrown')
  assert.deepEqual(
    await count(),
    before.map((rows) => rows / 2),
  )
  const [{ id } = {}] = (await database.query('SELECT id FROM wide_cache_grids')).rows
  assert(Buffer.isBuffer(id))
  const left: string[] = []
  for (const key of keys) {
    if (!/:(?:marks|marked|memory:\d+)$/.test(key) && (await cache.get(key))) left.push(key)
  }
  assert(left.length > 0 && left.every((key) => key.includes(id.toString('hex'))), String(left))
  for (const wide of thrown) await wide.close()
  await database.close()
})
