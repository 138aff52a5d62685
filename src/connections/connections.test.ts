import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { Connections } from './connections.js'

const open = () => new Connections('Thing', 'mine', systemEnvironment)

test('what was opened here is closed, and what was given is not', async () => {
  const connections = open()
  const given = { database: sqlite(':memory:'), cache: memory() }
  assert.equal(connections.openDatabase(given.database, []).database, given.database)
  assert.equal(connections.openCache(given.cache), given.cache)
  const { database } = connections.openDatabase('sqlite::memory:', [])
  const cache = connections.openCache('memory:')
  await Promise.all([
    connections.close(() => connections.finish()),
    connections.close(() => assert.fail('it is closed once')),
  ])
  await assert.rejects(database.query('SELECT 1'), { code: 'DATABASE_CLOSED' })
  await assert.rejects(cache.get('x'), { code: 'CACHE_CLOSED' })
  await given.database.query('SELECT 1')
  assert.equal(await given.cache.get('x'), undefined)
  await given.database.close()
})

for (const [how, end] of [
  ['finish()', (connections: Connections) => connections.finish()],
  ['releaseBy()', (connections: Connections) => connections.releaseBy(new Promise(() => {}))],
] as const) {
  test(`closing by ${how} ends when what was opened here has been closed`, async () => {
    const connections = open()
    const { database } = connections.openDatabase('sqlite::memory:', [])
    const order: string[] = []
    const close = database.close.bind(database)
    database.close = async () => {
      await close()
      order.push('database closed')
    }
    await connections.close(() => end(connections))
    order.push('finished')
    assert.deepEqual(order, ['database closed', 'finished'])
  })
}

test('what fails to close keeps nothing else open, and closing succeeds', async () => {
  const connections = open()
  const cache = connections.openCache('memory:')
  const { database } = connections.openDatabase('sqlite::memory:', [])
  let isClosed = false
  cache.close = () => Promise.reject(new Error('it fails'))
  database.close = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    isClosed = true
  }
  await connections.close(() => connections.finish())
  assert(isClosed)
})

test('closing waits for what is under way, and nothing new begins', async () => {
  const connections = open()
  const { database } = connections.openDatabase('sqlite::memory:', [])
  let done: (() => void) | undefined
  const running = connections.run(async () => {
    await new Promise<void>((resolve) => (done = resolve))
    return database.query('SELECT 1 AS one')
  })
  const closing = connections.close(() => connections.finish())
  await assert.rejects(
    connections.run(async () => assert.fail('it has been closed')),
    { code: 'CLOSED', message: /Thing "mine" has been closed/ },
  )
  done!()
  assert.deepEqual((await running).rows, [{ one: 1 }])
  await closing
})

test('a method under way keeps the process alive, and so does closing', async () => {
  let keeps = 0
  const keepAlive = () => {
    keeps++
    return () => void keeps--
  }
  const connections = new Connections('Thing', 'mine', { ...systemEnvironment, keepAlive })
  const alive: number[] = []
  const look = async () => void alive.push(keeps)
  await connections.run(look)
  await assert.rejects(connections.run(() => Promise.reject(new Error('it fails'))))
  await connections.close(look)
  await assert.rejects(
    connections.run(() => assert.fail('it has been closed')),
    { code: 'CLOSED' },
  )
  assert.deepEqual([alive, keeps], [[1, 1], 0])
})

test('connections that do not end are waited for half a second past the time', async () => {
  const waits: number[] = []
  const clock = {
    ...systemEnvironment.clock,
    after(ms: number, callback: () => void) {
      waits.push(ms)
      return systemEnvironment.clock.after(0, callback)
    },
  }
  const connections = new Connections('Thing', 'mine', { ...systemEnvironment, clock })
  const { database } = connections.openDatabase('sqlite::memory:', [])
  const close = database.close.bind(database)
  database.close = () => new Promise(() => undefined)
  await connections.releaseBy(Promise.resolve())
  assert.deepEqual(waits, [500])
  await close()
})

test('finishing waits for what else is given to it, before anything is closed', async () => {
  const connections = open()
  const { database } = connections.openDatabase('sqlite::memory:', [])
  let end = (): void => undefined
  const more = new Promise<void>((resolve) => (end = resolve)).then(() =>
    database.query('SELECT 1 AS one'),
  )
  const closing = connections.close(() => connections.finish(more))
  await new Promise(setImmediate)
  end()
  assert.deepEqual((await more).rows, [{ one: 1 }])
  await closing
})
