import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cache } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { SILENT } from '../support/logger.js'
import { WideCache } from './wide-cache.js'

test("a collector takes only its own name's rows from a shared cache and database", async () => {
  const inner = memory()
  const cache: Cache = new Proxy(inner, {
    get: (target, property) =>
      property === 'scope' ? 'shared' : Reflect.get(target, property).bind(target),
  })
  const database = sqlite(':memory:')
  await database.query(
    'CREATE TABLE taken (place INTEGER PRIMARY KEY, name TEXT NOT NULL, row TEXT NOT NULL)',
  )
  const open = (name: string): WideCache<unknown> =>
    new WideCache<unknown>({
      name,
      cache,
      database,
      collect: false,
      logger: SILENT,
      async commit(rows, tx) {
        for (const row of rows) {
          await tx.query('INSERT INTO taken (name, row) VALUES (?, ?)', [name, String(row)])
        }
      },
    })
  const [one, other] = [open('one'), open('other')]
  one.append('a')
  other.append('b')
  await Promise.all([one.flush(), other.flush()])
  const taken = async () =>
    (await database.query('SELECT name, row FROM taken ORDER BY name')).rows.map(
      ({ name, row }) => [name, row],
    )
  await one.drain({ all: true })
  assert.deepEqual(await taken(), [['one', 'a']])
  await other.drain({ all: true })
  assert.deepEqual(await taken(), [
    ['one', 'a'],
    ['other', 'b'],
  ])
  await Promise.all([one.close(), other.close()])
  await database.close()
})
