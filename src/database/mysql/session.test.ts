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
  const answer = (error?: Error, rows: readonly object[] = []): void =>
    answers.shift()?.(error, rows)
  /** The events that are listened to, once for each listener. */
  const listeners = (): unknown[] =>
    connection.eventNames().flatMap((name) => connection.listeners(name).map(() => name))
  return { session, asked, answer, listeners }
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

test('a session that was idle for too long is closed, though no timer has fired', async (t) => {
  mockTimers(t)
  const { session, asked } = scene()
  for (const [idleMs, isTaken, expected] of [
    [IDLE_MS - 1, true, ['released']],
    [IDLE_MS, false, ['released', 'ended']],
  ] as const) {
    await session.recycle()
    const at = performance.now() + idleMs
    const now = t.mock.method(performance, 'now', () => at)
    assert.equal(session.take(), isTaken)
    now.mock.restore()
    assert.deepEqual(asked.splice(0), expected)
  }
})

test('a session is reset once after what may have changed its state', async () => {
  const { session, asked, answer, listeners } = scene()
  const use = async (sql: string): Promise<readonly string[]> => {
    await answering(session.query(sql), answer)
    await answering(session.recycle(), answer)
    session.take()
    return asked.splice(0)
  }
  const [, reset, ...settings] = await use('SET @a = 1')
  assert.equal(reset, 'reset')
  assert.deepEqual([settings.length, settings.at(-1)], [3, 'released'])
  for (const plain of [
    'SELECT 1',
    ' select mail FROM t',
    'INSERT INTO t SELECT 1',
    'DELETE FROM t',
  ]) {
    assert.deepEqual(await use(plain), [plain, 'released'])
  }
  const changing = [
    'SELECT @a := 1',
    'select 1 INTO @a',
    'UPDATE t SET a = (@a := a + 1)',
    "SELECT GET_LOCK('a', 1)",
    "INSERT INTO t SELECT get_lock ('a', 1)",
    'DO 1',
    'CALL p()',
    'WITH a AS (SELECT 1) SELECT * FROM a',
  ]
  for (const sql of changing) assert.equal((await use(sql))[1], 'reset', sql)
  assert.deepEqual(listeners(), ['error', 'end'], 'no use adds one')
  session.destroy(new Error('the test is over'))
})

test('a statement is as long as its bytes, and one over the packet is not sent', async () => {
  const { session, asked, answer } = scene()
  const bytes = 1_000
  await answering(session.begin(), () => answer(undefined, [{ bytes, id: 1, version: '8.4.3' }]))
  asked.length = 0
  const longest = session.maxStatementBytes
  for (const letter of ['x', 'é', '漢']) {
    const size = Buffer.byteLength(letter)
    const fits = letter.repeat(longest / size) + 'x'.repeat(longest % size)
    await answering(session.query(fits), answer)
    assert.deepEqual(asked.splice(0), [fits])
    await assert.rejects(session.query(`${fits}x`), {
      category: 'data',
      code: 'ER_NET_PACKET_TOO_LARGE',
      message: new RegExp(
        `statement of ${longest + 1} bytes is over the ${longest} .* of ${bytes}`,
      ),
    })
    assert.deepEqual(asked, [])
  }
})
