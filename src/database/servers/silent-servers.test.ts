import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silence } from './errors.js'
import { connectTo, isSilent } from './silent-servers.js'

/** So many callers that come at once: how many of them connect, and the outcome of each. */
async function callers(count: number, connected: () => Promise<string>) {
  let attempts = 0
  const connect = () => (attempts++, connected())
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, () => connectTo('db.example:3306', connect)),
  )
  return { attempts, outcomes: outcomes.map(({ status }) => status) }
}

test('a silent server is tried by one caller at a time, until it answers', async () => {
  const silent = () => Promise.reject(silence(1_000))
  const rejected = ['rejected', 'rejected', 'rejected']
  assert.deepEqual(await callers(3, silent), { attempts: 3, outcomes: rejected })
  for (let again = 0; again < 2; again++) {
    assert(isSilent('db.example:3306') && !isSilent('other.example:3306'))
    assert.deepEqual(await callers(3, silent), { attempts: 1, outcomes: rejected })
  }
  // Who waits for an attempt that ends otherwise tries, too.
  for (const [answer, outcome] of [
    [() => Promise.reject(new Error('refused')), 'rejected'],
    [async () => 'connection', 'fulfilled'],
  ] as const) {
    const outcomes = Array<string>(3).fill(outcome)
    assert.deepEqual(await callers(3, answer), { attempts: 3, outcomes })
    assert(!isSilent('db.example:3306'))
    await callers(1, silent)
  }
})
