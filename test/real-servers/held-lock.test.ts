/** Another program holds locks on the tables: the log says so while it does, and whose they are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import {
  assertLedger,
  countRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

test('a lock that is held for long is in the log with its holder, before it is freed', async () => {
  const database = await sharedMysqlUrl()
  const [sql, holder] = [mysql(database), mysql(database)]
  await createRecorded(sql)
  const log = keptLog()
  const collector = openRecorded(
    { cache: `memcached://${await sharedMemcached()}`, database: sql, collect: '* * * * * *' },
    { name: uniqueName(), cellTtlSeconds: 120, logger: log },
  )
  const lines = (what: RegExp): string[] => log.lines.filter((line) => what.test(line))
  try {
    await collector.migrate()
    await holder.transaction(async (tx) => {
      await tx.query('SELECT * FROM wide_cache_grids FOR UPDATE')
      for (const row of rowsOf(0, 0, 100)) collector.append(row)
      await eventually('a line names the holder', async () => {
        // A transaction that sends nothing is rolled back.
        await tx.query('SELECT 1')
        return lines(/Connection \d+ .* holds the lock/).length > 0
      })
    })
    await eventually('it goes on', () => lines(/collecting "[^"]+" again/).length > 0)
    assert.equal(lines(/collecting .* failed/).length, 1, log.lines.join('\n'))
    await eventually('all rows are in SQL', async () => (await countRecorded(sql)) === 100)
    assertLedger(await collector.ledger(), 100)
  } finally {
    await collector.close()
    await Promise.all([sql.close(), holder.close()])
  }
})
