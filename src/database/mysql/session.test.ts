/** What a session does on a connection that answers when it is told to. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { PoolConnection } from 'mysql2'
import { flushPromises } from '../../support/manual-clock.fixture.js'
import { MysqlSession } from './session.js'

type Done = (error: unknown, result: unknown) => void
const LOOK_FOR_HOLDER_MS = 15_000
const IDLE_MS = 12_000

/** A session, what it has had its connection do, and the answers that it waits for. */
function scene() {
  const asked: string[] = []
  const answers: Done[] = []
  const note = (what: string) => (): void => void asked.push(what)
  const connection = Object.assign(new EventEmitter(), {
    format: (sql: string) => sql,
    query: (sql: string, done: Done) => {
      asked.push(sql)
      answers.push(done)
    },
    reset: (done: Done) => {
      asked.push('reset')
      answers.push(done)
    },
    release: note('released'),
    end: note('ended'),
    destroy: note('destroyed'),
  })
  const session = new MysqlSession(
    connection as unknown as PoolConnection,
    note('gone'),
    async () => void asked.push('who holds it?'),
    { name: 'MySQL', server: 'mysql' },
    { works: true },
  )
  /** Answers the first statement that waits. */
  const answer = (error?: Error): void => answers.shift()?.(error, [])
  return { session, asked, answer }
}

/** Answers all that is asked until `work` has ended. */
async function answering<T>(work: Promise<T>, answer: () => void): Promise<T> {
  let isDone = false
  const done = work.finally(() => (isDone = true))
  while (!isDone) {
    answer()
    await flushPromises()
  }
  return done
}

function mockTimers(context: TestContext): TestContext['mock']['timers'] {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  return context.mock.timers
}

test('a transaction that does not begin sends nothing more', async () => {
  const { session, asked, answer } = scene()
  const failed = session.transaction(async () => assert.fail('work is not done'))
  answer(new Error('refused'))
  await assert.rejects(failed, { name: 'DatabaseError' })
  assert.deepEqual(asked, ['START TRANSACTION'])
})

test('a session is busy until its statements are answered', async () => {
  const { session, answer } = scene()
  const queries = [session.query('SELECT 1'), session.query('SELECT 2')]
  answer()
  await queries[0]
  assert.equal(session.busy, true)
  answer(new Error('refused'))
  await assert.rejects(queries[1]!)
  assert.equal(session.busy, false)
})

test('the holder of a lock is looked for only while a statement waits', async (context) => {
  const timers = mockTimers(context)
  const { session, asked, answer } = scene()
  const query = session.query('SELECT 1')
  answer()
  await query
  timers.tick(LOOK_FOR_HOLDER_MS)
  assert.deepEqual(asked.splice(0), ['SELECT 1'])
  const waiting = session.query('SELECT 2')
  timers.tick(LOOK_FOR_HOLDER_MS)
  answer()
  await waiting
  assert.deepEqual(asked, ['SELECT 2', 'who holds it?'])
})

test('an idle session ends after 12 s, unless it is taken or destroyed before', async (context) => {
  const timers = mockTimers(context)
  for (const [end, expected] of [
    [() => undefined, ['released', 'ended']],
    [(session: MysqlSession) => session.take(), ['released']],
    [(session: MysqlSession) => session.destroy(new Error()), ['released', 'destroyed', 'gone']],
  ] as const) {
    const { session, asked } = scene()
    await session.recycle()
    end(session)
    timers.tick(IDLE_MS)
    assert.deepEqual(asked, expected)
  }
})

test('a session is reset once after what may have changed its state', async () => {
  const { session, asked, answer } = scene()
  const use = async (sql: string): Promise<readonly string[]> => {
    await answering(session.query(sql), answer)
    await answering(session.recycle(), answer)
    session.take()
    return asked.splice(0)
  }
  const [, reset, ...settings] = await use('SET @a = 1')
  assert.equal(reset, 'reset')
  assert.deepEqual([settings.length, settings.at(-1)], [3, 'released'])
  assert.deepEqual(await use('SELECT 1'), ['SELECT 1', 'released'])
  session.destroy(new Error('the test is over'))
})
