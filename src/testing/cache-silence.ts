/** Tests of a cache one of whose servers does not answer. */
import assert from 'node:assert/strict'
import { CacheError } from '../cache/cache.js'
import { bytes, type CacheTest, callsWith } from './on-cache.js'

/** Enough that each of several servers has some. */
const KEYS = 200

export function testSilence(it: CacheTest): void {
  it('with a silent server getMany returns the rest, or rejects', async (cache, key) => {
    const all = keysOf(key)
    const settled = await Promise.allSettled(all.map((one) => cache.set(one, bytes(one), 60)))
    const stored = all.filter((_, i) => settled[i]?.status === 'fulfilled')
    const reported: [key: string, error: CacheError][] = []
    const found = await cache.getMany(all, (...report) => reported.push(report))
    const unanswered = reported.map(([one]) => one)
    for (const [, error] of reported) assertUnanswered(error)
    assert.ok(unanswered.length > 0, 'the keys of the silent server are reported')
    assert.equal(new Set(unanswered).size, unanswered.length, 'each of them once')
    assert.deepEqual(
      stored.filter((one) => !found.has(one) && !unanswered.includes(one)),
      [],
      'no stored key is taken for a missing one',
    )
    assert.ok(stored.length === 0 || found.size > 0, 'other servers have answered')
    for (const [one, value] of found) assert.deepEqual(value, bytes(one))
    await assert.rejects(cache.getMany(all), assertUnanswered)
  })

  it('a server that does not answer is no miss', async (cache, key) => {
    const unanswered: string[] = []
    await cache.getMany(keysOf(key), (one) => unanswered.push(one))
    const [silent = assert.fail('no server is silent')] = unanswered
    for (const call of callsWith(cache, silent)) await assert.rejects(call, assertUnanswered)
  })
}

function keysOf(key: string): string[] {
  return Array.from({ length: KEYS }, (_, i) => `${key}:${i}`)
}

function assertUnanswered(error: unknown): true {
  assert.ok(error instanceof CacheError, String(error))
  assert.match(error.code, /^CACHE_(TIMEOUT|UNREACHABLE)$/)
  return true
}
