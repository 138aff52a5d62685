/**
 * One database behind two addresses of one server: what a process does when an address refuses, and
 * when another database is behind it.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keptLog } from '../../support/kept-log.fixture.js'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'
import { type Relay, startRelay } from '../../../test/servers/relay.js'
import { BurstLogger, SILENT } from '../../support/logger.js'
import { flushPromises } from '../../support/manual-clock.fixture.js'
import { rejects } from '../../testing/rejects.js'
import { Hosts } from '../servers/hosts.js'
import { QUEUE_LIMIT } from '../servers/limits.js'
import { isWritable, MysqlDatabase } from './mysql.js'
import { MysqlSessions } from './sessions.js'

const MOST_CONNECTIONS = 5
const WAITED_ONCE_MS = 15_000

const cleanUps: (() => unknown)[] = []
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

/** A migrated database behind two addresses, and what an operator sees and does. */
async function twoHosts() {
  const direct = await sharedMysqlUrl()
  const { port, username, password, pathname } = new URL(direct)
  const relays = [await startRelay(Number(port)), await startRelay(Number(port))] as const
  const hosts = relays.map((relay) => `127.0.0.1:${relay.port}`)
  const log = keptLog()
  const administrator = new MysqlDatabase(direct)
  const database = new MysqlDatabase(
    `mysql://${username}:${password}@${hosts.join()}${pathname}`,
    'database',
    log,
  )
  cleanUps.push(
    () => relays.map((relay) => relay.close()),
    () => administrator.close(),
    () => database.close(),
  )
  await administrator.migrate()
  return { database, administrator, relays, lines: log.lines }
}

/** Returns the indexes of the relays that have an open connection. */
function used(relays: readonly Relay[]): number[] {
  return relays.flatMap((relay, index) => (relay.connections > 0 ? [index] : []))
}

/** Resolves with the result of `ask` once no connection is left that has been cut. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < MOST_CONNECTIONS; tries++) await ask().catch(() => undefined)
  return ask()
}

test('a process stays with the host that it has, and moves when that one refuses', async () => {
  const { database, relays, lines } = await twoHosts()
  const [first, second] = relays
  const one = () => database.query('SELECT 1 AS one')
  await Promise.all([one(), one(), one()])
  assert.deepEqual(used(relays), [0])
  assert.deepEqual(lines, [])

  await first.close()
  assert.deepEqual((await answered(one)).rows, [{ one: 1 }])
  assert.deepEqual(used(relays), [1])
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /now used through mysql:\/\/127.* instead of .*ECONNREFUSED/)

  await first.listen(first.port)
  for (let i = 0; i < 5; i++) await one()
  assert.deepEqual(used(relays), [1], 'it does not move back by itself')

  await second.close()
  await answered(one)
  assert.deepEqual(used(relays), [0])

  await first.close()
  await assert.rejects(answered(one))
  const error = await rejects(one(), 'unreachable', 'ECONNREFUSED')
  assert.match(error.message, /^No host of the database can be used: .*refused.*; .*/i)
  assert(error.message.includes(`:${first.port}/`) && error.message.includes(`:${second.port}/`))
  assert(error.unsent)
})

test('a host with another database is refused by name, and used once it has the same', async () => {
  const { database, administrator, relays, lines } = await twoHosts()
  const [first] = relays
  await database.migrate()
  const [{ id } = {}] = (await administrator.query('SELECT id FROM wide_cache_identity')).rows
  assert.equal(String(id).length, 36)
  const rename = (to: unknown) =>
    administrator.query('UPDATE wide_cache_identity SET id = ?', [String(to)])

  await first.close()
  await rename('that of another database')
  await database.query('SELECT 1').catch(() => undefined)
  for (let i = 0; i < 3; i++) {
    const error = await rejects(database.query('DELETE FROM wide_cache_grids'), 'unreachable')
    assert.match(error.message, /has another database than mysql:/)
  }
  await administrator.query('ALTER TABLE wide_cache_identity RENAME TO elsewhere')
  await rejects(database.migrate(), 'unreachable')
  assert.equal(lines.filter((line) => /has another database than/.test(line)).length, 1)

  await administrator.query('ALTER TABLE elsewhere RENAME TO wide_cache_identity')
  await rename(id)
  await database.query('SELECT 1')
})

test('an address that comes to mean another database is refused', async () => {
  const { database, administrator, relays } = await twoHosts()
  const [first, second] = relays
  await database.migrate()
  await second.close()
  await administrator.query("UPDATE wide_cache_identity SET id = 'of a virtual address'")
  // Only the connections are cut: nothing tells the process that the server is another one.
  await first.close()
  await first.listen(first.port)
  const refused = answered(() => database.query('DELETE FROM wide_cache_grids'))
  assert.match((await rejects(refused, 'unreachable')).message, /has another database than/)
})

test('a transaction that is under way when its host is left ends on it', async () => {
  const { database, relays } = await twoHosts()
  const [first] = relays
  await database.query('CREATE TABLE t (n INT PRIMARY KEY) ENGINE=InnoDB')
  let begun = (): void => {}
  let goOn = (): void => {}
  const isBegun = new Promise<void>((resolve) => (begun = resolve))
  const mayGoOn = new Promise<void>((resolve) => (goOn = resolve))
  const transaction = database.transaction(async (tx) => {
    await tx.query('INSERT INTO t VALUES (1)')
    begun()
    await mayGoOn
    await tx.query('INSERT INTO t VALUES (2)')
  })
  await isBegun
  first.refuse()
  await Promise.all([database.query('SELECT SLEEP(0.1)'), database.query('SELECT 1')])
  assert.deepEqual(used(relays), [0, 1])
  goOn()
  await transaction
  assert.equal((await database.query('SELECT COUNT(*) AS n FROM t')).rows[0]?.['n'], 2)
  assert.deepEqual(used(relays), [1])
})

test('who waits for a silent host goes on to the next with the first to give up', async () => {
  const { database, relays } = await twoHosts()
  relays[0].swallow()
  const began = performance.now()
  await Promise.all(Array.from({ length: 30 }, () => database.query('SELECT 1')))
  assert(performance.now() - began < WAITED_ONCE_MS, 'not five at a time, 5 s each')
  assert.deepEqual(used(relays), [1])
})

test('a process that asks for too much does not leave its host', async () => {
  const { database, relays, lines } = await twoHosts()
  const all = Array.from({ length: MOST_CONNECTIONS + QUEUE_LIMIT + 1 }, () =>
    database.query('SELECT SLEEP(0.001)'),
  )
  const refused = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 1)
  await rejects(Promise.reject((refused[0] as PromiseRejectedResult).reason), 'capacity')
  assert.deepEqual(used(relays), [0])
  assert.deepEqual(lines, [])
})

test('close() waits for all hosts', async (context) => {
  const ends: (() => void)[] = []
  context.mock.method(MysqlSessions.prototype, 'close', () => {
    return new Promise<void>((resolve) => ends.push(resolve))
  })
  const both = [new MysqlSessions({}), new MysqlSessions({})]
  const hosts = new Hosts(both, isWritable, new BurstLogger(SILENT, () => 0))
  let isClosed = false
  const closed = hosts.close().then(() => (isClosed = true))
  await flushPromises()
  ends[1]!()
  await flushPromises()
  assert.equal(isClosed, false)
  ends[0]!()
  await closed
})
