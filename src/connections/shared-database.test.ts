import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../support/eventually.fixture.js'
import { sharedMysqlUrl } from '../../test/servers/shared.js'
import { startRelay } from '../../test/servers/relay.js'
import { DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { Connections } from './connections.js'
import { sharedDatabase } from './shared-database.js'

const cleanUps: (() => Promise<void>)[] = []
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

function connect(url: string) {
  const connections = new Connections('Thing', 'mine', systemEnvironment)
  const { database } = connections.openDatabase(url, [])
  const close = () => connections.close(() => connections.finish())
  cleanUps.push(close)
  return { database, close }
}

test('objects with one URL share connections, which end with the last of them', async () => {
  const relay = await startRelay(Number(new URL(await sharedMysqlUrl()).port))
  cleanUps.push(() => relay.close())
  const direct = new URL(await sharedMysqlUrl())
  direct.port = String(relay.port)
  const url = direct.href
  const objects = [connect(url), connect(url), connect(url)] as const
  const busy = () => objects.map(({ database }) => database.query('SELECT SLEEP(0.1)'))
  await Promise.all([...busy(), ...busy(), ...busy()])
  assert.equal(relay.connections, 5, 'the most connections are those of the process')

  const other = connect(`${url}?connection_limit=1`)
  await Promise.all([other.database.query('SELECT 1'), other.database.query('SELECT 1')])
  assert.equal(relay.connections, 6, 'options that differ have connections of their own')
  await other.close()

  const [first, second, last] = objects
  const running = second.database.query('SELECT SLEEP(0.1)')
  await Promise.all([first.close(), first.database.close(), first.close()])
  await assert.rejects(first.database.query('SELECT 1'), { code: 'DATABASE_CLOSED' })
  await assert.rejects(
    first.database.transaction(async () => assert.fail('it is closed')),
    DatabaseError,
  )
  await running
  await second.close()
  await last.database.query('SELECT 1')
  await last.close()
  await eventually('all connections end', () => relay.connections === 0)

  const again = connect(url)
  await again.database.query('SELECT 1')
  assert.equal(relay.connections, 1)
  await again.close()
})

test('the last share is closed when the database is', async () => {
  const database = sqlite(':memory:')
  const order: string[] = []
  const close = database.close.bind(database)
  database.close = async () => {
    await close()
    order.push('database closed')
  }
  const shares = [1, 2].map(() => sharedDatabase('sqlite://last', () => database))
  await shares[0]!.close()
  assert.equal(order.length, 0)
  await shares[1]!.close()
  order.push('share closed')
  assert.deepEqual(order, ['database closed', 'share closed'])
})

test('what could not be opened is not shared', () => {
  const open = (): never => {
    throw new RangeError('refused')
  }
  assert.throws(() => sharedDatabase('mysql://a/b', open), /refused/)
  assert.throws(() => sharedDatabase('mysql://a/b', open), /refused/)
})

test('an object opened while the last one closes gets connections of its own', async () => {
  const closing = sqlite(':memory:')
  const close = closing.close.bind(closing)
  let mayClose = (): void => undefined
  const permitted = new Promise<void>((resolve) => (mayClose = resolve))
  closing.close = async () => {
    await permitted
    await close()
  }
  const url = 'sqlite://closing'
  const closed = sharedDatabase(url, () => closing).close()
  const next = sharedDatabase(url, () => sqlite(':memory:'))
  mayClose()
  await closed
  assert.deepEqual((await next.query('SELECT 1 AS one')).rows, [{ one: 1 }])
  // It is the one that the others share now.
  const other = sharedDatabase(url, () => assert.fail('it is open'))
  await next.close()
  await other.close()
})
