/**
 * Promise 1 on real servers: machines that share a database but have a memcached each are told of
 * it, and lose nothing.
 */
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { assertRecorded, countRecorded, createRecorded, rowsOf, uniqueName } from './recorded.js'
import { startRecorder } from './recorder.js'

/** The machine that is told collects at times at which the other has just collected. */
const EACH_SECOND = '* * * * * *'
const EACH_TWO_SECONDS = '*/2 * * * * *'
/** Within it, frames that are committed directly are in SQL. Far less than `confirmSeconds`. */
const DIRECT_MS = 4_000
/** The remedy: one list of servers for all, or a name for each machine. */
const TELLS_THE_REMEDY = new RegExp(
  'one (?:shared )?(?:server )?list|same (?:list|servers)|shared list|' +
    'name (?:per|for each) machine|each machine',
  'i',
)

describe('two machines, each with its own memcached', { concurrency: true }, () => {
  test('the log names the remedy; one killed after that loses its open frame only', async () => {
    const memcached = [await startMemcached(), await startMemcached()] as const
    const database = await sharedMysqlUrl()
    const sql = mysql(database)
    await createRecorded(sql)
    const name = uniqueName()
    const a = await startRecorder({
      cache: `memcached://${memcached[0].address}`,
      database,
      name,
      collect: EACH_SECOND,
    })
    // A keeps the lease, so B is the machine that the collectors do not see.
    let number = 10
    await a.append(0, 0, number)
    await eventually('A collects', async () => (await countRecorded(sql)) >= number)
    const b = await startRecorder({
      cache: `memcached://${memcached[1].address}`,
      database,
      name,
      collect: EACH_TWO_SECONDS,
    })
    try {
      await b.append(1, 0, number)
      const record = async (): Promise<void> => {
        await Promise.all([a.append(0, number, number + 10), b.append(1, number, number + 10)])
        number += 10
      }
      let untold: unknown
      const told = eventually('the log of machine B names the remedy', () =>
        b.lines.some((line) => TELLS_THE_REMEDY.test(line)),
      ).catch((error: unknown) => {
        untold = error
      })
      let waiting = true
      void told.then(() => {
        waiting = false
      })
      while (waiting) {
        await record()
        await delay(100)
      }
      for (let i = 0; i < 40; i++) await record()
      await b.flush()
      await delay(DIRECT_MS)
      await b.kill()
      const all = [...rowsOf(0, 0, number), ...rowsOf(1, 0, number)]
      await eventually(
        'the rows of both machines are in SQL',
        async () => (await countRecorded(sql)) >= all.length,
      ).catch(() => undefined)
      await a.close()
      await assertRecorded(sql, all)
      if (untold) throw untold
    } finally {
      await Promise.all([a.kill(), b.kill()])
      await sql.close()
      await Promise.all(memcached.map((server) => server.kill()))
    }
  })

  test('while both live, nothing is lost', async () => {
    const memcached = [await startMemcached(), await startMemcached()] as const
    const database = await sharedMysqlUrl()
    const sql = mysql(database)
    await createRecorded(sql)
    const name = uniqueName()
    const machines = await Promise.all(
      memcached.map(({ address }) =>
        startRecorder({ cache: `memcached://${address}`, database, name, collect: EACH_SECOND }),
      ),
    )
    try {
      for (let from = 0; from < 1500; from += 10) {
        await Promise.all(
          machines.map((machine, writer) => machine.append(writer, from, from + 10)),
        )
        await delay(100)
      }
      await Promise.all(machines.map((machine) => machine.close()))
      await assertRecorded(
        sql,
        machines.flatMap((_, writer) => rowsOf(writer, 0, 1500)),
      )
    } finally {
      await Promise.all(machines.map((machine) => machine.kill()))
      await sql.close()
      await Promise.all(memcached.map((server) => server.kill()))
    }
  })
})
