import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrappedDatabase } from '../../test/servers/wrapped.js'
import { PreparedDatabase } from '../connections/prepared-database.js'
import type { Database } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { table } from '../database/table.js'
import { systemEnvironment } from '../support/environment.js'
import { failingEntries, failingEntryActions } from './failing-entries.js'
import { RangeLeases } from './leases.js'

const KEY = ['queue', 'hash', 'version'] as const
const ENTRIES = table('export_queue_entries', KEY, 'entry_key', 'entry_value')

/** A database of a queue whose exporter has failed once at all entries with hashes up to 9. */
async function failedOnce(): Promise<Database> {
  const database = sqlite(':memory:')
  await database.migrate()
  const prepared = new PreparedDatabase(database, ['collision-free-map'], systemEnvironment)
  const leases = new RangeLeases(prepared, 'out', systemEnvironment)
  const lease = await database.transaction((tx) => leases.take(tx, { first: 0, last: 9 }))
  await leases.rest(lease!.holder, 'wrong')
  return database
}

test('an entry that cannot be removed stays with what is known of its failures', async () => {
  const database = await failedOnce()
  await ENTRIES.insert(database, [['out', 7, 1, Buffer.from('key'), Buffer.from('value')]])
  const query = { name: 'out', limit: 10 }
  const [entry] = await failingEntries(database, query)
  assert(entry)
  const failing = wrappedDatabase(database, {}, (tx) => ({
    query: (sql, values) =>
      sql.startsWith('DELETE FROM export_queue_entries')
        ? Promise.reject(new Error('not removed'))
        : tx.query(sql, values),
  }))
  await assert.rejects(failingEntryActions(failing).skip(entry), /not removed/)
  assert.deepEqual(await failingEntries(database, query), [entry])
  assert.equal(await failingEntryActions(database).skip(entry), undefined)
  assert.deepEqual(await failingEntries(database, query), [])
  await database.close()
})

test('one entry is found by its id, and of several none is skipped alone', async () => {
  const database = await failedOnce()
  const entry = (hash: number) =>
    ['out', hash, 1, Buffer.from(`${hash}`), Buffer.from('value')] as const
  await ENTRIES.insert(database, [entry(7), entry(8)])
  const [first] = await failingEntries(database, { limit: 10 })
  assert.equal(first!.entries, 2)
  assert.deepEqual(await failingEntries(database, { id: first!.id, limit: 10 }), [first])
  assert.deepEqual(await failingEntries(database, { id: first!.id + 1, limit: 10 }), [])
  const why = await failingEntryActions(database).skip(first!)
  assert.match(String(why), /^the last call had 2 entries or fewer, and it is not known which/)
  assert.deepEqual(await failingEntries(database, { limit: 10 }), [first])
  await database.close()
})
