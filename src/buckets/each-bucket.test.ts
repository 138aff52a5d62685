import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../database/database.js'
import { AbandonedCallError } from './calls.js'
import type { Buckets } from './buckets.js'
import { eachBucket } from './each-bucket.js'
import { HASHES } from './encoding.js'

const COUNT = 4
const SIZE = HASHES / COUNT

/** Four buckets, those of `queued` with something in their first and last hash. */
function bucketsWith(...queued: readonly number[]): Buckets & { asked: [number, number][] } {
  const asked: [number, number][] = []
  const hashes = queued.flatMap((bucket) => [bucket * SIZE, (bucket + 1) * SIZE - 1])
  const next = async (from: number, to: number) => {
    asked.push([from, to])
    const hash = hashes.find((one) => one >= from && one < to)
    if (hash === undefined) return undefined
    const bucket = Math.floor(hash / SIZE)
    return { bucket, last: (bucket + 1) * SIZE - 1 }
  }
  return { asked, next } as unknown as Buckets & { asked: [number, number][] }
}

test('it visits each bucket with updates once, from a random one on, and adds up', async () => {
  for (const [random, expected] of [
    [0, [0, 1, 3]],
    [0.3, [1, 3, 0, 1]],
    [0.5, [3, 0, 1]],
    [0.999, [3, 0, 1, 3]],
  ] as const) {
    const seen: number[] = []
    const sum = await eachBucket(bucketsWith(0, 1, 3), { random: () => random }, async (bucket) => {
      seen.push(bucket)
      return bucket + 1
    })
    assert.deepEqual(seen, expected)
    assert.equal(
      sum,
      expected.reduce<number>((total, bucket) => total + bucket + 1, 0),
    )
  }
})

test('it asks once after the last full bucket, and never after the last hash', async () => {
  const buckets = bucketsWith(0, 3)
  await eachBucket(buckets, { random: () => 0 }, async () => 1)
  assert.deepEqual(buckets.asked, [
    [0, HASHES],
    [SIZE, HASHES],
  ])
  const none = bucketsWith()
  assert.equal(await eachBucket(none, { random: () => 0.5 }, async () => 1), 0)
  assert.deepEqual(none.asked, [
    [HASHES / 2, HASHES],
    [0, HASHES / 2],
  ])
})

test('a failing bucket does not stop the others; the first failure is thrown', async () => {
  const failures = [new Error('first'), new DatabaseError('TEST', 'usage', 'second'), undefined]
  const seen: number[] = []
  const all = eachBucket(bucketsWith(0, 1, 3), { random: () => 0 }, async (bucket) => {
    seen.push(bucket)
    const failure = failures.shift()
    if (failure) throw failure
    return 1
  })
  await assert.rejects(all, /first/)
  assert.deepEqual(seen, [0, 1, 3])
})

/** Asserts how many of three buckets are tried if each fails with `error`. */
async function assertTried(error: Error, tried: number): Promise<void> {
  let seen = 0
  const failing = async (): Promise<never> => {
    seen++
    throw error
  }
  await assert.rejects(eachBucket(bucketsWith(0, 1, 3), { random: () => 0 }, failing), error)
  assert.equal(seen, tried)
}

test('without a database, with a full one, and once it is closed, it ends at once', async () => {
  await assertTried(new DatabaseError('TEST', 'unreachable', 'away'), 1)
  await assertTried(new DatabaseError('TEST', 'capacity', 'full'), 1)
  await assertTried(new AbandonedCallError('CLOSED', 'closed'), 1)
  await assertTried(new AbandonedCallError('ERR_WIDE_CACHE_TIMEOUT', 'too long'), 3)
})
