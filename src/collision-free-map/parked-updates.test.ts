import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { parkedUpdateActions, parkedUpdates } from './parked-updates.js'

const opened: { close(): Promise<void> }[] = []
after(() => Promise.all(opened.map((one) => one.close())))

async function park(database: Database, id: number, name: string): Promise<void> {
  await database.query(
    'INSERT INTO collision_free_map_parked (id, map, hash, map_key, map_value, reason, ' +
      'parked_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    [id, name, 2, Buffer.from('key'), Buffer.from('value'), 'wrong', 3],
  )
}

for (const [server, url] of [
  ['SQLite', () => 'sqlite::memory:'],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  test(`${server}: of two who act on one parked update the first does, once`, async () => {
    const { database } = openDatabase(await url())
    opened.push(database)
    await database.migrate()
    const name = 'twice'
    const actions = parkedUpdateActions(database)
    for (const [first, second, queued] of [
      ['retry', 'retry', 1],
      ['retry', 'skip', undefined],
      ['skip', 'skip', 0],
    ] as const) {
      await park(database, 1, name)
      const [parked] = await parkedUpdates(database, { name, limit: 1 })
      const said = await Promise.all([actions[first](parked!), actions[second](parked!)])
      assert.deepEqual(said.toSorted(), ['it is no longer there', undefined])
      assert.equal(await actions[first](parked!), 'it is no longer there')
      assert.deepEqual(await parkedUpdates(database, { name, limit: 1 }), [])
      const { affectedRows } = await database.query(
        'DELETE FROM collision_free_map_queue WHERE map = ?',
        [name],
      )
      assert.equal(affectedRows, queued ?? Number(said[0] === undefined))
    }
  })
  test(`${server}: parked updates are listed of all maps, of one, and one alone`, async () => {
    const { database } = openDatabase(await url())
    opened.push(database)
    await database.migrate()
    const rows = [
      [1, 'one'],
      [2, 'two'],
      [3, 'one'],
    ] as const
    for (const [id, name] of rows) await park(database, id, name)
    for (const [query, ids] of [
      [{}, [1, 2, 3]],
      [{ name: 'one' }, [1, 3]],
      [{ name: 'one', id: 3 }, [3]],
      [{ name: 'one', id: 2 }, []],
      [{ name: 'none' }, []],
    ] as const) {
      const listed = await parkedUpdates(database, { ...query, limit: 10 })
      assert.deepEqual(
        listed.map(({ id }) => id),
        ids,
      )
    }
  })
  test(`${server}: an update that cannot leave the table is not queued again`, async () => {
    const { database } = openDatabase(await url())
    opened.push(database)
    await database.migrate()
    const name = 'stays'
    await park(database, 1, name)
    const failing = wrappedDatabase(database, {}, (tx) => ({
      query: (sql, values) =>
        sql.startsWith('DELETE FROM collision_free_map_parked')
          ? Promise.reject(new Error('not removed'))
          : tx.query(sql, values),
    }))
    const [parked] = await parkedUpdates(database, { name, limit: 1 })
    for (const verb of ['retry', 'skip'] as const) {
      await assert.rejects(parkedUpdateActions(failing)[verb](parked!), /not removed/)
    }
    assert.deepEqual(await parkedUpdates(database, { name, limit: 1 }), [parked])
    const { rows } = await database.query('SELECT id FROM collision_free_map_queue WHERE map = ?', [
      name,
    ])
    assert.deepEqual(rows, [])
  })
}
