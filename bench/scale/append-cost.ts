/**
 * Costs of growing cells for memcached: CPU time of an append over the size of the cell (which is
 * copied each time), and how much of its memory they can use (they leave a slab class behind at
 * each step).
 */
import type { Cache } from '../../src/cache/cache.js'
import { cacheWork, lookAtCaches } from './counters.js'

/** About a frame of 50 visits. */
const FRAME = Buffer.alloc(2_600, 'f')

/**
 * CPU µs of an append to cells up to `size`, which are filled several at a time, by `appends` in
 * all. @throws Error if one was refused
 */
export async function appendCost(
  cache: Cache,
  port: number,
  size: number,
  appends: number,
): Promise<number> {
  const frames = Math.floor(size / FRAME.length)
  const cells = Math.max(1, Math.round(appends / frames))
  const keys = Array.from({ length: cells }, (_, at) => `append-cost:${size}:${at}`)
  for (const key of keys) await must(cache.add(key, FRAME, 600))
  const before = await lookAtCaches([port])
  // So many at once that the server seldom waits, so few that no cell's appends time out.
  for (let at = 0; at < keys.length; at += 16) {
    await Promise.all(keys.slice(at, at + 16).map((key) => fill(cache, key, frames - 1)))
  }
  const { cpuMicros, operations } = cacheWork(before, await lookAtCaches([port]))
  await Promise.all(keys.map((key) => cache.delete(key)))
  return cpuMicros / operations
}

const CELLS_AT_ONCE = 8

/**
 * The share of a server's memory that cells of `cellBytes` fill before the first is evicted or
 * refused. They grow some at a time, as the cells of a layer do, none is deleted, and the server
 * has not been used before.
 */
export async function usableShare(
  cache: Cache,
  port: number,
  memoryBytes: number,
  cellBytes: number,
): Promise<number> {
  const frames = Math.floor(cellBytes / FRAME.length)
  let stored = 0
  for (let batch = 0; stored < memoryBytes; batch++) {
    const keys = Array.from({ length: CELLS_AT_ONCE }, (_, cell) => `usable:${batch}:${cell}`)
    for (const key of keys) {
      if (!(await cache.add(key, FRAME, 600))) return stored / memoryBytes
    }
    for (let at = 1; at < frames; at++) {
      const answers = await Promise.all(keys.map((key) => cache.append(key, FRAME)))
      if (answers.includes(false)) return stored / memoryBytes
    }
    if ((await lookAtCaches([port])).some(({ evictions }) => evictions > 0)) {
      return stored / memoryBytes
    }
    stored += CELLS_AT_ONCE * frames * FRAME.length
  }
  return stored / memoryBytes
}

async function fill(cache: Cache, key: string, frames: number): Promise<void> {
  for (let at = 0; at < frames; at++) await must(cache.append(key, FRAME))
}

async function must(stored: Promise<boolean>): Promise<void> {
  if (!(await stored)) throw new Error('memcached has refused an append to a cell under its limit')
}
