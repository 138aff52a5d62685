/**
 * Processes of a site whose database is a group of three members of MySQL. The primary leaves the
 * group, comes back, and its successor is killed: all that was answered happened once.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MysqlDatabase, mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { type Group, startGroup } from '../servers/group-replication.js'
import { freshDatabase, onMariadb } from '../servers/mariadb.js'
import { sharedMemcached } from '../servers/shared.js'
import { assertOnce, Everything } from './everything.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  uniqueName,
} from './recorded.js'

const MEMBERS = 3
const UNDISTURBED_MS = 3_000

describe('Group Replication', { skip: onMariadb() && 'needs MySQL' }, () => {
  let group: Group
  before(async () => {
    group = await startGroup(MEMBERS)
  })
  after(() => Promise.all(group.members.map((member) => member.kill())))

  test('a primary leaves, its successor is killed: all is once', async () => {
    const { pathname } = new URL(await freshDatabase((await group.primary()).url()))
    const urls = group.members.map((member) => new URL(member.url(pathname.slice(1))))
    const [{ username, password }] = urls as [URL]
    const hosts = urls.map(({ host }) => host).join()
    const url = `mysql://${username}:${password}@${hosts}${pathname}`
    const log = keptLog()
    const sql = new MysqlDatabase(url, 'database', keptLog())
    await createRecorded(sql)
    await sql.migrate()
    const site = { name: uniqueName(), cache: `memcached://${await sharedMemcached()}` }
    const databases = [0, 1].map(() => new MysqlDatabase(url, 'database', log))
    const processes = databases.map(
      (database, n) => new Everything(n, site, database, { logger: log, confirmSeconds: 28 }),
    )
    const answered = () => processes.reduce((sum, one) => sum + one.numbers.length, 0)
    const goesOn = async (what: string) => {
      const before = answered()
      await eventually(`numbers are given ${what}`, () => answered() > before)
      await delay(UNDISTURBED_MS)
    }
    try {
      for (const one of processes) one.start()
      await goesOn('at first')
      const left = await group.primary()
      await group.tell(left, 'STOP GROUP_REPLICATION')
      await goesOn('by a new primary')
      assert.deepEqual(
        processes.map(({ sharded }) => sharded.refused),
        [0, 0],
        'increments wait for it',
      )
      await group.tell(left, 'START GROUP_REPLICATION')
      await group.complete(MEMBERS)
      const killed = await group.primary()
      assert.notEqual(killed.port, left.port)
      await killed.kill()
      await goesOn('by the third primary')
      await Promise.all(processes.map((one) => one.stop()))
      await Promise.all(processes.map((one) => one.flush()))
      const rows = processes.flatMap((one) => one.recorded)
      await eventually('all rows are in SQL', async () => {
        const found = await countRecorded(sql).catch(() => 0)
        return found >= rows.length
      })
      await assertOnce(processes)
      assertLedger((await processes[0]!.totals()).ledger, rows.length)
      assert.deepEqual(await Promise.all(processes.map((one) => one.close())), [0, 0])
      for (const member of group.members.filter((one) => one !== killed)) {
        const alone = mysql(member.url(pathname.slice(1)))
        await eventually(
          'the member has all',
          async () => (await countRecorded(alone)) >= rows.length,
        )
        await assertRecorded(alone, rows)
        await alone.close()
      }
    } finally {
      await Promise.all(processes.map((one) => one.close()))
      await Promise.all([sql, ...databases].map((database) => database.close()))
    }
  })
})
