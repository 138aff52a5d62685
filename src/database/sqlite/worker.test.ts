import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

test('a result comes in pieces that are short in bytes and in values', async () => {
  const state = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: { file: ':memory:', state },
  })
  const ask = async (request: object) => {
    const answer = once(worker, 'message')
    worker.postMessage({ id: 1, ...request })
    const [{ rows, more }] = (await answer) as [{ rows: unknown[][]; more: boolean }]
    return { rows: rows.length, more }
  }
  const numbers = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000)`
  assert.deepEqual(await ask({ sql: `${numbers} SELECT n, n FROM n`, values: [] }), {
    rows: 250,
    more: true,
  })
  assert.deepEqual(await ask({ more: true }), { rows: 250, more: true })
  const large = `${numbers} SELECT zeroblob(30000) FROM n LIMIT 4`
  assert.deepEqual(await ask({ sql: large, values: [] }), { rows: 3, more: true })
  assert.deepEqual(await ask({ more: true }), { rows: 1, more: false })
  const left = once(worker, 'exit')
  await ask({ close: true })
  await left
})
