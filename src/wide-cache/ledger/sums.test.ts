import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../database/database.js'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { execute } from '../../database/sql.js'
import { table } from '../../database/table.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { missingSince, outstandingIn, readLedgerSums } from './sums.js'
import { enterName } from './name-settings.js'

const NOW = 1_800_000_000_000
const WRITERS = table('wide_cache_writers', ['name', 'writer'], 'issued', 'committed', 'last_seen')

/** A process of the name enters. */
function enter(database: Database, name: string, vanishedSeconds: number): Promise<unknown> {
  return enterName(database, {
    name,
    kind: 'rows',
    cellTtlSeconds: 10,
    directSeconds: 10,
    vanishedSeconds,
    nameSettings: {},
  })
}

const databases: [string, () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

for (const [where, open] of databases) {
  test(`${where}: a writer vanishes by the longest time of the processes of its name`, async () => {
    const database = await open()
    after(() => database.close())
    await database.migrate(['wide-cache'])
    // A writer of each name, unheard of for a minute, of whose three rows one is committed.
    for (const [id, name] of ['one', 'other', 'unused'].entries()) {
      await WRITERS.insert(database, [[name, Buffer.alloc(16, id + 1), 3, 1, NOW - 60_000]])
    }
    const sums = async (name: string, now = NOW) => {
      const found = await readLedgerSums(database, name, now)
      return [found.owed, outstandingIn(found), found.writersSeen]
    }
    await enter(database, 'one', 59)
    await enter(database, 'other', 60)
    const safeAt = (at: number) =>
      database.query("UPDATE wide_cache_names SET safe_at = ? WHERE name = 'other'", [at])
    await safeAt(0)
    assert.deepEqual(await sums('one'), [2, 0, 0])
    assert.deepEqual(await sums('other'), [0, 2, 1])
    assert.deepEqual(await sums('other', NOW + 1), [2, 0, 0])

    assert.deepEqual(await sums('other', NOW - 120_000), [0, 2, 1], 'it lies a minute ahead')
    assert.deepEqual(await sums('other', NOW - 120_001), [2, 0, 0], 'the clock was ahead')

    await safeAt(NOW - 60_000)
    assert.deepEqual(await sums('other', NOW - 7_200_000), [0, 2, 1], 'the clock is behind')
    await safeAt(0)
    assert.deepEqual(await sums('other', NOW + 1), [2, 0, 0], 'the safe clock is')

    // Its writer may yet be heard of: what was owed is on its way again, and nothing was lost.
    await enter(database, 'one', 600)
    assert.deepEqual(await sums('one'), [0, 2, 1])
    await enter(database, 'one', 5)
    assert.deepEqual(await sums('one'), [0, 2, 1], 'the longest stays')
    assert.deepEqual(await sums('unused'), [0, 2, 1], 'no process has said a time')
    assert.deepEqual(await sums('unknown'), [0, 0, 0])
  })
  test(`${where}: missing rows are those on their way, and those gone since a moment`, async () => {
    const database = await open()
    after(() => database.close())
    await database.migrate(['wide-cache'])
    const since = NOW - 60_000
    const fields = ['issued', 'committed', 'quarantined', 'dropped', 'lost', 'gone', 'gone_at']
    const writers = table('wide_cache_writers', ['name', 'writer'], ...fields, 'last_seen')
    for (const [id, [row, seenAt, missing]] of (
      [
        // On their way: 32 - 16 - 1 - 4. That others have not come was known before.
        [[32, 16, 1, 2, 4, 7, since - 1], since, 11],
        [[32, 16, 1, 2, 4, 7, since], since, 11 + 7],
        [[32, 16, 1, 2, 4, 6, since - 1], since, 11 + 7],
        [[32, 16, 1, 2, 4, 7, since], since - 1, 0],
      ] as const
    ).entries()) {
      const name = `site-${id}`
      await writers.insert(database, [[name, Buffer.alloc(16, id + 1), ...row, seenAt]])
      const { rows } = await execute(database)`SELECT (${missingSince(since, name)}) AS missing`
      assert.equal(Number(rows[0]!['missing']), missing, name)
    }
  })
}
