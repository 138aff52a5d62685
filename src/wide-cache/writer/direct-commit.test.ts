import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../../database/database.js'
import { systemEnvironment } from '../../support/environment.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock, flushPromises } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import type { Frame } from '../frame.js'
import type { Settled } from '../ledger/ledger.js'
import { DirectCommit } from './direct-commit.js'
import { heldFrame } from './held-frame.fixture.js'
import { Outbox } from './outbox.js'

/**
 * An outbox with ten frames of one row, committed five at a time, and a ledger that fails while
 * told to.
 */
function bench(random = 0.5) {
  const [clock, log] = [new ManualClock(0), keptLog()]
  const outbox = new Outbox(1e6)
  const frames = Array.from({ length: 10 }, (_, n) => heldFrame(n, { writer: 'ab' }))
  for (const frame of frames) outbox.add(frame)
  const world: { fails: boolean; prefix: number; hold: Promise<void> | undefined } = {
    fails: false,
    prefix: -1,
    hold: undefined,
  }
  const commits: number[][] = []
  const commit = async (batch: readonly Frame[]): Promise<Settled> => {
    commits.push(batch.map(({ sequence }) => sequence))
    await world.hold
    if (world.fails) throw new DatabaseError('ECONNREFUSED', 'unreachable', 'no database')
    return {
      committed: batch.length,
      duplicate: 0,
      quarantined: 0,
      prefixes: new Map([['ab', world.prefix]]),
    }
  }
  const direct = new DirectCommit(
    {
      settings: { name: 'hits', maxCommitRows: 5 },
      ledger: { nameOf: () => 'hits', commit, quarantine: commit },
      environment: { ...systemEnvironment, clock, random: () => random },
      logger: new BurstLogger(log, clock.elapsed),
    },
    outbox,
  )
  return {
    clock,
    log,
    outbox,
    frames,
    world,
    commits,
    direct,
    held: () => [...outbox.frames()].map(({ sequence }) => sequence),
  }
}

test('frames are committed in batches, and the outbox drops all up to the prefix', async () => {
  const { direct, frames, commits, held, world } = bench()
  await direct.commit(frames.slice(2, 8))
  assert.deepEqual(commits, [[2, 3, 4, 5, 6], [7]])
  assert.deepEqual(held(), [0, 1, 8, 9])
  world.prefix = 8
  await direct.commit(frames)
  assert.deepEqual(commits.slice(2), [[0, 1, 8, 9]], 'only those still held')
  assert.deepEqual(held(), [])
})

test('what a commit that fails was to bring stays in the outbox, and is not counted', async () => {
  const { direct, frames, held, world } = bench()
  world.fails = true
  await assert.rejects(direct.commit(frames), { code: 'ECONNREFUSED' })
  assert.equal(held().length, 10)
  assert.deepEqual([direct.commits, direct.rows], [0, 0])
  world.fails = false
  await direct.commit(frames)
  assert.deepEqual(held(), [])
  assert.deepEqual([direct.commits, direct.rows], [2, 10])
})

test('there is one commit at a time', async () => {
  const { direct, frames, commits, world } = bench()
  let release = (): void => undefined
  world.hold = new Promise((resolve) => {
    release = resolve
  })
  const both = [direct.commit(frames.slice(0, 3)), direct.commit(frames.slice(0, 4))]
  await flushPromises()
  assert.equal(commits.length, 1)
  release()
  await Promise.all(both)
  assert.deepEqual(commits, [[0, 1, 2], [3]])
})

test('a failed attempt is logged, never rejects, and waits twice as long each time', async () => {
  const { direct, frames, commits, log, world, clock } = bench()
  world.fails = true
  let afterwards = 0
  const attempt = (): Promise<void> =>
    direct.attempt(frames.slice(0, 1), async () => void afterwards++)
  for (const wait of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    const before = commits.length
    await attempt()
    assert.equal(commits.length, before + 1)
    await clock.advance(wait - 1)
    await attempt()
    assert.equal(commits.length, before + 1, `not again within ${wait} ms`)
    await clock.advance(1)
  }
  assert.equal(afterwards, 0)
  assert.match(log.lines[0]!, /this process holds 1 frame that SQL has not committed, and retries/)
  world.fails = false
  await attempt()
  assert.equal(afterwards, 1)
  assert.match(log.lines.at(-1)!, /accepts direct commits again/)
  world.fails = true
  const before = commits.length
  await direct.attempt(frames.slice(1, 2), async () => undefined)
  await clock.advance(1_000)
  await direct.attempt(frames.slice(1, 2), async () => undefined)
  assert.equal(commits.length, before + 2, 'after a success the waits begin anew')
})

test('processes that fail at one moment do not all retry at one moment', async () => {
  for (const [random, wait] of [
    [0, 500],
    [0.999, 1_499],
  ] as const) {
    const { direct, frames, commits, world, clock } = bench(random)
    world.fails = true
    const attempt = (): Promise<void> => direct.attempt(frames.slice(0, 1), async () => undefined)
    await attempt()
    await clock.advance(wait - 1)
    await attempt()
    assert.equal(commits.length, 1)
    await clock.advance(1)
    await attempt()
    assert.equal(commits.length, 2)
  }
})

test('what comes after a commit may fail too, and is tried again', async () => {
  const { direct, clock, log, frames } = bench()
  let tries = 0
  const afterwards = async (): Promise<void> => {
    if (++tries === 1) throw new DatabaseError('ECONNREFUSED', 'unreachable', 'no database')
  }
  await direct.attempt(frames, afterwards)
  await direct.attempt([], afterwards)
  await clock.advance(1_000)
  await direct.attempt([], afterwards)
  assert.equal(tries, 2)
  assert.deepEqual(
    log.lines,
    [
      'wide-cache: this process has not written its row counts to SQL, and retries: ' +
        'no database',
    ],
    'all frames are committed, and by then nothing was, so nothing is said of it',
  )
})

test('conflicts with other transactions are worth a line only if they last', async () => {
  const { direct, clock, log, frames } = bench()
  const conflict = async (): Promise<void> => {
    throw new DatabaseError('ER_LOCK_DEADLOCK', 'lock', 'conflict')
  }
  for (let i = 0; i < 4; i++) {
    await direct.attempt([], conflict)
    await clock.advance(30_000)
    await direct.attempt(frames, async () => undefined)
  }
  assert.deepEqual(log.lines, [])
  await direct.attempt([], conflict)
  await clock.advance(30_000)
  await direct.attempt([], conflict)
  assert.equal(log.lines.length, 1)
})

test('a lock that one try waits for in vain is in the log', async () => {
  const { direct, clock, log } = bench()
  await direct.attempt([], async () => {
    await clock.advance(20_000)
    throw new DatabaseError('ER_LOCK_WAIT_TIMEOUT', 'lock', 'a lock of connection 7')
  })
  assert.match(log.lines[0]!, /a lock of connection 7/)
})

const BEGIN = /commits frames of "hits" directly: the cache is down; nothing is lost/
const DOWN = { code: 'down', why: 'the cache is down' }

test('the log says once why frames are committed directly, and 20 s later how many', async () => {
  const { clock, log, direct, frames } = bench()
  direct.logEnd()
  direct.log(frames.slice(0, 2), DOWN)
  await clock.advance(19_999)
  direct.log(frames.slice(2, 3), DOWN)
  await clock.advance(19_999)
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, BEGIN)
  await clock.advance(1)
  assert.equal(log.lines.length, 2)
  assert.match(log.lines[1]!, /directly; it has committed 3 frames with 3 rows/)
  assert.equal(clock.pending, 0)
  direct.logEnd()
  direct.log(frames.slice(0, 5), DOWN)
  direct.logEnd()
  assert.equal(log.lines.length, 4)
  assert.match(log.lines[2]!, BEGIN)
  assert.match(log.lines[3]!, /directly; it has committed 5 frames with 5 rows/)
  assert.equal(clock.pending, 0, 'no timer is left')
})

test('a new reason of direct commits is said too', () => {
  const { log, direct, frames } = bench()
  direct.log(frames.slice(0, 1), DOWN)
  direct.log(frames.slice(0, 1), { code: 'full', why: 'the cache is full' })
  direct.log(frames.slice(0, 1), { code: 'full', why: 'the cache is full' })
  assert.equal(log.lines.length, 2)
  assert.match(log.lines[1]!, /the cache is full/)
})
