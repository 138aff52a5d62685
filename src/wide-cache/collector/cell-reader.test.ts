import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../cache/cache.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { flushPromises, ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { FIRST_HEADER } from '../frame.fixture.js'
import { HEADER_BYTES, sealFrame } from '../frame.js'
import { Grid } from '../grid.js'
import { MEMORY_KEYS } from './cache-memory.js'
import { CellReader } from './cell-reader.js'

const STAMP = 7
const MINUTE_MS = 60_000

/** A frame of one row of four bytes. */
function frameOf(sequence: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + 8)
  bytes.writeUInt32BE(4, HEADER_BYTES)
  sealFrame(bytes, { ...FIRST_HEADER, sequence }, Buffer.alloc(16, 1), STAMP)
  return bytes
}

/** Two servers: one has column 0 and the other has column 1. */
function bench(scope: 'shared' | 'private' = 'private') {
  const [clock, log] = [new ManualClock(0), keptLog()]
  const grid = new Grid(Buffer.alloc(16, 1), { width: 2, layerSeconds: 3 })
  const stored = new Map<string, Buffer>()
  const world = { silent: new Set<string>(), asked: [] as (readonly string[])[], stallMs: 0 }
  const cache = {
    scope,
    getMany: async (
      keys: readonly string[],
      onUnanswered: (key: string, error: CacheError) => void,
    ) => {
      world.asked.push(keys)
      if (world.stallMs > 0) await clock.advance(world.stallMs)
      const found = new Map<string, Buffer>()
      for (const key of keys) {
        const server = `server${key.at(-1)}`
        const cell = stored.get(key)
        if (world.silent.has(server)) {
          onUnanswered(key, new CacheError('CACHE_TIMEOUT', 'no answer', { server }))
        } else if (cell) {
          found.set(key, cell)
        }
      }
      return found
    },
  }
  const logger = new BurstLogger(log, clock.elapsed)
  const reader = new CellReader({ cache: cache as never, clock, logger, stamp: STAMP }, grid)
  return {
    clock,
    log,
    reader,
    world,
    remember: (key: string, value: string) => stored.set(key, Buffer.from(value)),
    put: (layer: number, column: number, ...pieces: Buffer[]) =>
      stored.set(grid.keys.cell(layer, column), Buffer.concat(pieces)),
    /** One drain of the layers 1 to 3. */
    drain: async () => {
      const silent = new Set<string>()
      const reading = reader.read(1, 3, silent)
      await clock.advance(2_000)
      await reader.forgetSilence(silent)
      return reading
    },
  }
}

test('of a shared cache the keys of its memory are read with the cells', async () => {
  const it = bench('shared')
  it.put(1, 0, frameOf(0))
  it.remember(MEMORY_KEYS[0]!, '12')
  it.world.silent.add(`server${MEMORY_KEYS[1]!.at(-1)}`)
  const { memory, forgotten, frames, keys } = await it.drain()
  assert.deepEqual([memory, frames.length, keys.length], [[12], 1, 1])
  const silent = MEMORY_KEYS.filter((key) => key.endsWith(MEMORY_KEYS[1]!.at(-1)!))
  assert.deepEqual(
    forgotten,
    MEMORY_KEYS.slice(1).filter((key) => !silent.includes(key)),
    'but of what a silent server has nothing is known',
  )
  assert.equal((await bench().drain()).forgotten.length, 0, 'a private cache loses nothing')
})

test('all cells of some layers are read at once, and what is no frame is set apart', async () => {
  const it = bench()
  it.put(1, 0, frameOf(0), Buffer.from('unreadable'))
  it.put(3, 1, frameOf(1), frameOf(2))
  const read = await it.drain()
  assert.deepEqual(
    read.frames.map(({ sequence }) => sequence),
    [0, 1, 2],
  )
  assert.deepEqual(read.unreadable.map(String), ['unreadable'])
  assert.equal(read.bytes, 3 * (HEADER_BYTES + 8) + 10)
  assert.deepEqual([read.keys.length, read.unanswered, read.firstUnanswered], [2, 0, Infinity])
  assert.deepEqual([it.world.asked.length, it.world.asked[0]?.length], [1, 6])
})

test('a silent server is waited for a minute, asked a last time, and given up', async () => {
  const it = bench()
  it.put(2, 0, frameOf(0))
  it.world.silent.add('server1')
  for (let drains = 0; drains < 3; drains++) {
    const read = await it.drain()
    assert.equal(read.frames.length, 1, 'the other server is read')
    assert.deepEqual([read.unanswered, read.firstUnanswered], [3, 1])
    assert.equal(it.world.asked.length, drains + 1, 'it is asked once')
  }
  await it.clock.advance(MINUTE_MS)
  const given = await it.drain()
  assert.deepEqual([given.unanswered, given.firstUnanswered], [0, Infinity])
  assert.deepEqual([it.world.asked.length, it.world.asked.at(-1)?.length], [5, 3])
  assert.match(it.log.lines[0]!, /cache server does not answer the collector \(no answer\)/)
})

test('a server that is given up is asked a last time once in a drain, not at each', async () => {
  const it = bench()
  it.world.silent.add('server1')
  await it.drain()
  await it.clock.advance(MINUTE_MS)
  it.world.asked.length = 0
  const silent = new Set<string>()
  for (const [from, to] of [
    [1, 3],
    [4, 6],
  ] as const) {
    const reading = it.reader.read(from, to, silent)
    await it.clock.advance(2_000)
    assert.equal((await reading).unanswered, 0)
  }
  assert.equal(it.world.asked.length, 3)
})

test('a server stays given up in drains that ask it for no cell', async () => {
  const it = bench()
  it.world.silent.add('server1')
  await it.drain()
  await it.clock.advance(MINUTE_MS)
  assert.equal((await it.drain()).unanswered, 0)
  await it.reader.forgetSilence(new Set())
  assert.equal((await it.drain()).unanswered, 0)
  it.world.silent.clear()
  await it.reader.forgetSilence(new Set())
  it.world.silent.add('server1')
  assert.equal((await it.drain()).unanswered, 3)
})

test('a server that answers when it is asked a last time is waited for anew', async () => {
  const it = bench()
  it.put(2, 1, frameOf(0))
  it.world.silent.add('server1')
  await it.drain()
  await it.clock.advance(MINUTE_MS)
  const draining = it.drain()
  it.world.silent.clear()
  assert.equal((await draining).frames.length, 1)
  it.world.silent.add('server1')
  assert.equal((await it.drain()).unanswered, 3)
})

test('a server that answers in a drain is silent anew afterwards', async () => {
  const it = bench()
  it.world.silent.add('server1')
  await it.drain()
  it.world.silent.clear()
  await it.drain()
  await it.clock.advance(MINUTE_MS)
  it.world.silent.add('server1')
  assert.equal((await it.drain()).unanswered, 3)
})

test('a process that stalls over an answer does not give up a server any sooner', async () => {
  const it = bench()
  it.world.silent.add('server1')
  await it.drain()
  await it.clock.advance(MINUTE_MS / 2)
  const silent = new Set<string>()
  assert.equal((await it.reader.read(1, 3, silent)).unanswered, 3)
  it.world.stallMs = MINUTE_MS / 2
  assert.equal((await it.reader.read(4, 6, silent)).unanswered, 3)
})

test('a server that answers its last question is waited for if it fails after it', async () => {
  const it = bench()
  it.world.silent.add('server1')
  await it.drain()
  await it.clock.advance(MINUTE_MS)
  const silent = new Set<string>()
  const reading = it.reader.read(1, 3, silent)
  await flushPromises()
  it.world.silent.clear()
  await it.clock.advance(2_000)
  assert.equal((await reading).unanswered, 0)
  it.world.silent.add('server1')
  const again = it.reader.read(4, 6, silent)
  await it.clock.advance(2_000)
  assert.equal((await again).unanswered, 3)
})
