/**
 * Faults of a database server and of the network, which every adapter that speaks to a server
 * survives in the same way. A statement is sent once, and its outcome is unknown only if it may
 * have been carried out.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { after, describe, test, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startFaultyTcp, type FaultyTcp } from '../../test/servers/faulty-tcp.js'
import { eventually } from '../support/eventually.fixture.js'
import { rejects } from '../testing/rejects.js'
import { type Database, DatabaseError, type Queryable } from './database.js'
import { CONNECTIONS } from './servers/limits.js'

interface ServerAdapter {
  readonly name: string
  /** Returns the URL of a new, empty database. */
  fresh(): Promise<string>
  open(url: string): Database
  /** A statement that takes so many seconds. */
  sleep(seconds: number): string
  /** Selects the connection's own id, and ends the connection of an id. */
  readonly ownId: string
  kill(id: number): string
}

/** Registers the tests. */
export function testDatabaseServerFaults(adapter: ServerAdapter): void {
  const { name, fresh, sleep } = adapter
  describe(`${name}: faults of a server`, { concurrency: true }, () => {
    const opened: Database[] = []
    after(() => Promise.all(opened.map((database) => database.close())))
    const open = (url: string): Database => {
      const database = adapter.open(url)
      opened.push(database)
      return database
    }
    const withTable = async (): Promise<{ url: string; direct: Database }> => {
      const url = await fresh()
      const direct = open(url)
      await direct.query('CREATE TABLE t (n INTEGER NOT NULL)')
      await direct.query('INSERT INTO t VALUES (1)')
      return { url, direct }
    }
    const add = (on: Queryable): Promise<unknown> => on.query('UPDATE t SET n = n + 1')
    const nOf = async (on: Queryable): Promise<unknown> =>
      (await on.query('SELECT n FROM t')).rows[0]?.['n']

    /** Runs `body` with a database that is reached through a proxy, and with one that is not. */
    const behindProxy = async (
      t: TestContext,
      body: (database: Database, proxy: FaultyTcp, direct: Database) => Promise<void>,
    ): Promise<void> => {
      const { url, direct } = await withTable()
      const through = new URL(url)
      const proxy = await startFaultyTcp(through.host)
      t.after(() => proxy.close())
      through.port = String(proxy.port)
      await body(open(through.href), proxy, direct)
    }

    test('several statements in one are refused', async () => {
      const { direct } = await withTable()
      await rejects(direct.query('SELECT 1; DELETE FROM t'), 'usage')
      assert.equal(await nOf(direct), 1)
    })

    test('a connection that is killed fails its transaction as unreachable', async () => {
      const { direct } = await withTable()
      const killed = direct.transaction(async (tx) => {
        await add(tx)
        const { rows } = await tx.query(adapter.ownId)
        await direct.query(adapter.kill(Number(rows[0]?.['id'])))
        await add(tx)
      })
      await rejects(killed, 'unreachable')
      assert.equal(await nOf(direct), 1)
    })

    for (const [what, write] of [
      ['a statement', (database: Database) => add(database)],
      ['a commit', (database: Database) => database.transaction((tx) => add(tx))],
    ] as const) {
      test(`${what} whose reply is lost is sent once, and its outcome is unknown`, (t) =>
        behindProxy(t, async (database, proxy, direct) => {
          await add(database)
          // Half a second late: the work is over, and its last reply on the way.
          proxy.delay(500)
          const lost = rejects(write(database), 'unreachable')
          await eventually('it is carried out', async () => (await nOf(direct)) === 3)
          proxy.drop('rst')
          proxy.pass()
          assert.equal((await lost).unsent, false)
          assert.equal(await nOf(database), 3)
          assert.equal(await nOf(direct), 3, 'nothing has sent it again')
        }))
    }

    test('what a server does not take is unsent, and it is used again once it is back', (t) =>
      behindProxy(t, async (database, proxy) => {
        await add(database)
        await proxy.refuse()
        // The connection is found out to be gone at the first use.
        await add(database).catch(() => undefined)
        const { unsent } = await rejects(add(database), 'unreachable', 'ECONNREFUSED')
        assert.equal(unsent, true)
        await proxy.listen()
        assert.equal(await nOf(database), 2)
      }))

    for (const ending of ['fin', 'rst'] as const) {
      test(`connections that end (${ending}) while idle cost nothing`, (t) =>
        behindProxy(t, async (database, proxy) => {
          const all = Array.from({ length: CONNECTIONS }, () => database.query(sleep(0.05)))
          await Promise.all(all)
          proxy.drop(ending)
          await setTimeout(200)
          await Promise.all(all.map(() => add(database)))
          assert.equal(await nOf(database), 1 + CONNECTIONS)
        }))

      test(`after half a reply, then ${ending}, statements get their own replies`, (t) =>
        behindProxy(t, async (database, proxy) => {
          for (const bytes of [1, 4, 5, 20]) {
            await nOf(database)
            proxy.cutReply(bytes, ending)
            await rejects(database.query("SELECT 'a' AS a"), 'unreachable')
            proxy.pass()
            assert.equal(await nOf(database), 1, `after ${bytes} bytes`)
          }
        }))
    }

    test('many statements at once share the connections of the limit', (t) =>
      behindProxy(t, async (database, proxy) => {
        await Promise.all(Array.from({ length: 40 }, () => database.query(sleep(0.01))))
        assert.equal(proxy.connections, CONNECTIONS)
      }))

    /** A server that accepts connections and says nothing, and how many it has accepted. */
    const silent = async (t: TestContext): Promise<{ url: string; connections: () => number }> => {
      let connections = 0
      const server = createServer(() => connections++).listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.after(() => server.close())
      const url = new URL(await fresh())
      url.port = String((server.address() as AddressInfo).port)
      return { url: url.href, connections: () => connections }
    }

    test('all objects of a process try one connection at a time to a silent server', async (t) => {
      const { url, connections } = await silent(t)
      const [one, other] = [open(url), open(url)]
      const unreachable = (database: Database) =>
        rejects(database.query('SELECT 1'), 'unreachable', 'ETIMEDOUT')
      for (const { unsent } of await Promise.all([unreachable(one), unreachable(other)])) {
        assert(unsent)
      }
      assert.equal(connections(), 2)
      await Promise.all([unreachable(one), unreachable(other)])
      assert.equal(connections(), 3)
    })

    test('close() does not wait for a silent server', async (t) => {
      const { url } = await silent(t)
      const database = open(url)
      // Its connection may be given up first: both take five seconds.
      const waiting = assert.rejects(database.query('SELECT 1'), DatabaseError)
      await database.close()
      await waiting
    })

    test('close() ends the attempt to connect to a server that is known as silent', async (t) => {
      const { url } = await silent(t)
      const database = open(url)
      await rejects(database.query('SELECT 1'), 'unreachable', 'ETIMEDOUT')
      const waiting = rejects(database.query('SELECT 1'), 'usage', 'DATABASE_CLOSED')
      await database.close()
      await waiting
    })

    test('close() cuts off a statement that does not end; none that waits is sent', async () => {
      const { url, direct } = await withTable()
      const database = open(`${url}?connection_limit=1`)
      await add(database)
      const closed = (work: Promise<unknown>) => rejects(work, 'usage', 'DATABASE_CLOSED')
      const cut = closed(database.query(sleep(120)))
      const waiting = [closed(add(database)), closed(database.transaction((tx) => add(tx)))]
      await database.close()
      assert.equal((await cut).unsent, false, 'it may have been carried out')
      for (const { unsent } of await Promise.all(waiting)) assert(unsent)
      assert.equal((await closed(add(database))).unsent, true)
      assert.equal(await nOf(direct), 2)
    })
  })
}
