import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { Database } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { SILENT } from '../support/logger.js'
import { refuseUnknownName, withDatabase, withTables } from './existing.js'

const folder = temporaryFolder('existing')
after(() => removeFolder(folder))

test('a command makes no file, and closes its database whatever comes of the work', async () => {
  const file = join(folder, 'a.db')
  await assert.rejects(
    withDatabase(`sqlite:${file}`, SILENT, async () => assert.fail('it runs')),
    /there is no database sqlite:.*start a web process, or run wide-cache migrate/,
  )
  assert(!existsSync(file))
  const made = sqlite(file)
  await made.migrate()
  await made.close()
  const given: Database[] = []
  const works = [async () => 'done', async () => Promise.reject(new Error('failed'))]
  for (const work of works) {
    const answer = withDatabase(`sqlite:${file}`, SILENT, (database) => {
      given.push(database)
      return work()
    })
    await answer.then(
      (done) => assert.equal(done, 'done'),
      ({ message }: Error) => assert.equal(message, 'failed'),
    )
  }
  assert.equal(given.length, 2)
  for (const one of given) await assert.rejects(one.query('SELECT 1'), { code: 'DATABASE_CLOSED' })
})

test('only the tables that a command needs must be those of this version', async () => {
  const file = join(folder, 'b.db')
  const made = sqlite(file)
  await made.query('CREATE TABLE own (id INTEGER)')
  const asked = (parts: readonly string[], ifThere?: readonly string[]) =>
    withTables(`sqlite:${file}`, SILENT, parts, async () => 'runs', ifThere)
  await assert.rejects(asked(['hits']), /has no tables of "hits", or its user may not see them/)
  assert.equal(await asked([], ['hits']), 'runs')
  await made.migrate()
  assert.equal(await asked(['wide-cache', 'activity', 'hits']), 'runs')
  const newer = (oldest: number) =>
    made.query(
      `UPDATE wide_cache_migrations SET version = 2, oldest = ${oldest} WHERE part = 'hits'`,
    )
  await newer(1)
  assert.equal(await asked(['hits']), 'runs')
  await newer(2)
  await assert.rejects(asked(['hits']), /"hits" are at version 2, .* update the package here/)
  await assert.rejects(asked([], ['hits']), /"hits" are at version 2/)
  assert.equal(await asked(['activity']), 'runs')
  await made.close()
})

test('a name that no process has used is refused with those that there are', () => {
  refuseUnknownName(undefined, [])
  refuseUnknownName('a', ['a', 'b'])
  assert.throws(() => refuseUnknownName('c', ['a', 'b']), /names of this database: a, b/)
  assert.throws(() => refuseUnknownName('c', []), /names of this database: there are none/)
})
