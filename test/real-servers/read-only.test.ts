/** A process that starts while its database takes no writes has the figures of those before it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createActivity, createHits } from '../../src/index.js'
import { openDatabase } from '../../src/database/open.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { SILENT } from '../../src/support/logger.js'
import { startMariadb } from '../servers/mariadb.js'
import { sharedMemcached } from '../servers/shared.js'
import { startPostgres } from '../servers/postgres.js'

const USER = "CREATE USER 'site'@'%' IDENTIFIED BY 'site'"
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP'
const cleanUps: (() => Promise<unknown>)[] = []
after(() => Promise.all(cleanUps.map((cleanUp) => cleanUp())))

const servers = {
  async MariaDB() {
    const server = await startMariadb()
    cleanUps.push(() => server.stop())
    const { database: root } = openDatabase(server.url())
    cleanUps.push(() => root.close())
    // Who may do everything may write on a server that is read-only.
    await root.query(USER)
    await root.query(`GRANT ${RIGHTS} ON test.* TO 'site'@'%'`)
    return {
      url: `mysql://site:site@127.0.0.1:${server.port}/test`,
      stopWrites: () => root.query('SET GLOBAL read_only = 1'),
    }
  },
  async PostgreSQL() {
    const server = await startPostgres()
    cleanUps.push(() => server.stop())
    return {
      url: server.url(),
      async stopWrites() {
        await server.tell('ALTER SYSTEM SET default_transaction_read_only = on')
        await server.tell('SELECT pg_reload_conf()')
      },
    }
  },
}

for (const [name, start] of Object.entries(servers)) {
  test(`${name}: a process that starts on a read-only database has the last figures`, async () => {
    const { url, stopWrites } = await start()
    const cache = `memcached://${await sharedMemcached()}`
    const open = () => {
      const options = { database: url, cache, logger: SILENT } as const
      return {
        activity: createActivity(options),
        hits: createHits({ ...options, name: 'threads' }),
      }
    }
    const first = open()
    first.activity.record({ visitor: 1, page: '/a' })
    first.hits.record('7')
    await eventually('the visit is in the figures', async () => {
      return (await first.activity.stats()).pageViews === 1
    })
    await Promise.all([first.activity.close(), first.hits.close()])
    await stopWrites()
    const { activity, hits } = open()
    const today = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 86_400_000) }
    try {
      const { pageViews, visitors } = await activity.stats()
      assert.deepEqual({ pageViews, visitors }, { pageViews: 1, visitors: 1 })
      const days = await activity.history({ by: 'day', ...today })
      assert.equal(
        days.reduce((sum, day) => sum + (day.pageViews ?? 0), 0),
        1,
      )
      assert.deepEqual(await activity.top('page', { ...today, n: 5 }), [
        { value: '/a', pageViews: 1 },
      ])
      assert.equal((await activity.ledger()).committed, 1)
      const [day] = new Date().toISOString().split('T')
      assert.ok(await activity.certificate(day!))
      assert.equal(await hits.count('7'), 1)
      assert.deepEqual(await hits.top(5), [['7', 1]])
      assert.equal((await hits.ledger()).committed, 1)
      assert.match(await activity.metrics(), /^wide_cache_committed_total\{name="activity"\} 1$/m)
    } finally {
      await Promise.all([activity.close(), hits.close()])
    }
  })
}
