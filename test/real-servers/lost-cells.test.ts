/**
 * A memcached that is flushed or restarted loses frames. Their writers learn it from the collector,
 * and bring them to SQL long before `confirmSeconds`.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { type Memcached, startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const WRITERS = 3
const ROWS = 2_000
/** A writer by itself would wait for this, and the test fails before. */
const CONFIRM_SECONDS = 3_600

/** memcached keeps what it got in the second of a `flush_all`. */
const SECOND_MS = 1_100

const losses: [what: string, lose: (server: Memcached) => Promise<void>][] = [
  ['flushed', (server) => setTimeout(SECOND_MS).then(() => server.flush())],
  ['restarted', (server) => server.restart()],
]

describe('writers bring what a cache has lost', { concurrency: true }, () => {
  for (const [what, lose] of losses) {
    test(`memcached is ${what}: all rows come to SQL, each once`, async () => {
      const server = await startMemcached()
      const sql = mysql(await sharedMysqlUrl())
      await createRecorded(sql)
      const options = {
        name: uniqueName(),
        confirmSeconds: CONFIRM_SECONDS,
        cellTtlSeconds: 2 * CONFIRM_SECONDS,
      }
      const cache = `memcached://${server.address}`
      const open = (collect: string | false, logger = keptLog()) =>
        openRecorded({ cache, database: sql, collect }, { ...options, logger })
      const log = keptLog()
      const writers = Array.from({ length: WRITERS }, () => open(false, log))
      const collectors: ReturnType<typeof open>[] = []
      try {
        await Promise.all(writers.map((wide) => wide.migrate()))
        for (const [writer, wide] of writers.entries()) {
          for (const row of rowsOf(writer, 0, ROWS)) wide.append(row)
        }
        await Promise.all(writers.map((wide) => wide.flush()))
        await lose(server)
        collectors.push(open('* * * * * *'))
        const ledger = () => collectors[0]!.ledger()
        await eventually(
          'the frames come before confirmSeconds',
          async () => (await ledger()).committed >= WRITERS * ROWS,
        )
        await assertRecorded(
          sql,
          writers.flatMap((_, writer) => rowsOf(writer, 0, ROWS)),
        )
        assertLedger(await ledger(), WRITERS * ROWS)
        assert(log.lines.some((line) => /the collector has not found them in the cache/.test(line)))
      } finally {
        await Promise.all([...collectors, ...writers].map((wide) => wide.close()))
        await sql.close()
        await server.kill()
      }
    })
  }
})
