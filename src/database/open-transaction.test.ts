import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { QueryResult } from './database.js'
import { MAX_IDLE_MS, OpenTransaction } from './open-transaction.js'

/** A transaction on a database that answers when it is told to, and what has happened so far. */
function scene() {
  const events: string[] = []
  const answers = new Map<string, (error?: Error) => void>()
  const transaction = new OpenTransaction({
    dialect: 'mysql',
    maxStatementBytes: Infinity,
    check: (sql) => {
      if (sql.startsWith('no')) throw new Error(sql)
    },
    prepare: (sql) => {
      events.push(`${sql} ready`)
      return () =>
        new Promise<QueryResult>((resolve, reject) => {
          events.push(`${sql} sent`)
          answers.set(sql, (error) =>
            error ? reject(error) : resolve({ rows: [], affectedRows: 0 }),
          )
        })
    },
  })
  const query = (sql: string): Promise<unknown> =>
    transaction.query(sql).then(
      () => events.push(`${sql} answered`),
      (error: Error) => events.push(`${sql}: ${error.message}`),
    )
  const answer = (sql: string, error?: Error): void => answers.get(sql)?.(error)
  return { transaction, events, query, answer }
}

test('the next statement is sent before the last answer is handed over', async () => {
  const { events, query, answer } = scene()
  const all = ['a', 'b', 'c'].map(query)
  assert.deepEqual(events.splice(0), ['a ready', 'a sent', 'b ready'])
  answer('a')
  await all[0]
  assert.deepEqual(events.splice(0), ['b sent', 'c ready', 'a answered'])
  answer('b')
  await all[1]
  answer('c')
  await all[2]
  assert.deepEqual(events, ['c sent', 'b answered', 'c answered'])
})

test('after a failure nothing is sent, and all waiting calls reject, in order', async () => {
  const { transaction, events, query, answer } = scene()
  const failed = transaction.finish(async () => {
    const all = ['a', 'b', 'c'].map(query)
    answer('a', new Error('refused'))
    await Promise.all(all)
  })
  await assert.rejects(failed, { message: 'refused' })
  assert.deepEqual(events, [
    'a ready',
    'a sent',
    'b ready',
    'a: refused',
    'b: refused',
    'c: refused',
  ])
})

test('failed work sends no waiting statement, and waits for the one in flight', async () => {
  const { transaction, events, query, answer } = scene()
  let ended = false
  const failed = transaction
    .finish(() => {
      void query('a')
      void query('b')
      throw new Error('changed my mind')
    })
    .finally(() => {
      ended = true
    })
  failed.catch(() => undefined)
  await new Promise(setImmediate)
  assert.equal(ended, false)
  answer('a')
  await assert.rejects(failed, { message: 'changed my mind' })
  assert.deepEqual(events, ['a ready', 'a sent', 'b ready', 'a answered', 'b: changed my mind'])
})

test('the first of several failures is that of the transaction, and of all that wait', async () => {
  const { transaction, events, query, answer } = scene()
  let others: Promise<unknown>[] = []
  const failed = transaction.finish(async () => {
    others = ['a', 'b', 'no 1', 'no 2'].map(query)
    throw new Error('because of no 1')
  })
  await new Promise(setImmediate)
  answer('a')
  await assert.rejects(failed, { message: 'because of no 1' })
  await Promise.all(others)
  assert.deepEqual(events.slice(3), ['no 1: no 1', 'no 2: no 2', 'a answered', 'b: no 1'])
  const swallowed = scene()
  const work = swallowed.transaction.finish(async () => {
    await Promise.all(['a', 'no 1', 'no 2'].map(swallowed.query))
  })
  await new Promise(setImmediate)
  swallowed.answer('a', new Error('later'))
  await assert.rejects(work, { message: 'no 1' })
})

test('the failure of a statement that nothing awaits fails its transaction', async () => {
  const { transaction, answer } = scene()
  const astray: unknown[] = []
  const hear = (error: unknown): void => void astray.push(error)
  process.on('unhandledRejection', hear)
  try {
    const failed = transaction.finish(async (tx) => {
      const first = tx.query('a')
      const second = tx.query('b')
      answer('a', new Error('refused'))
      await first
      await second
    })
    await assert.rejects(failed, { message: 'refused' })
    await new Promise(setImmediate)
    assert.deepEqual(astray, [])
  } finally {
    process.off('unhandledRejection', hear)
  }
})

test('a transaction without a statement for 10 s rolls back; a slow one stays', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { transaction, query, answer, events } = scene()
  let ended = false
  const failed = transaction
    .finish(async () => {
      await query('a')
      await new Promise(() => undefined)
    })
    .finally(() => {
      ended = true
    })
  failed.catch(() => undefined)
  context.mock.timers.tick(60_000)
  await new Promise(setImmediate)
  assert.equal(ended, false, 'a statement is under way')
  answer('a')
  await new Promise(setImmediate)
  context.mock.timers.tick(MAX_IDLE_MS - 1)
  await new Promise(setImmediate)
  assert.equal(ended, false)
  context.mock.timers.tick(1)
  await assert.rejects(failed, {
    code: 'DATABASE_TRANSACTION_IDLE',
    category: 'usage',
    message: /no statement for 10 s/,
  })
  await query('late')
  assert.match(events.at(-1) ?? '', /^late: The transaction ran no statement/)
})

test('a transaction that never runs a statement is idle, too', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const failed = scene().transaction.finish(() => new Promise(() => undefined))
  context.mock.timers.tick(MAX_IDLE_MS)
  await assert.rejects(failed, { code: 'DATABASE_TRANSACTION_IDLE' })
})

test('a hook that fails is the last one, also if it keeps its failure for itself', async () => {
  const { transaction, events, query, answer } = scene()
  const failed = transaction.finish(async (tx) => {
    tx.beforeCommit(async () => void (await query('a')))
    tx.beforeCommit(async () => void events.push('second hook'))
  })
  failed.catch(() => undefined)
  await new Promise(setImmediate)
  answer('a', new Error('refused'))
  await assert.rejects(failed, { message: 'refused' })
  assert.deepEqual(events, ['a ready', 'a sent', 'a: refused'])
})

test('a statement that is made once the work has ended is refused', async () => {
  const { transaction, events, query, answer } = scene()
  let late: Promise<unknown> | undefined
  const finished = transaction.finish(async (tx) => {
    void tx.query('a').then(() => (late = query('b')))
  })
  await new Promise(setImmediate)
  answer('a')
  await finished
  answer('b')
  await late
  assert.deepEqual(events, [
    'a ready',
    'a sent',
    'b: The transaction has ended: await its statements within the work function',
  ])
})
