import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DatabaseErrorCategory, DatabaseError } from '../../database/database.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { FIRST_HEADER } from '../frame.fixture.js'
import type { Frame } from '../frame.js'
import type { CommitOptions, Settled } from './ledger.js'
import { RowsError } from './rows.js'
import { type FrameLedger, settle } from './settle.js'

const frame = (sequence: number): Frame => ({
  ...FIRST_HEADER,
  writer: 'ab',
  sequence,
  issued: sequence,
  rowCount: 2,
  bytes: Buffer.alloc(0),
})
const refused = (category: DatabaseErrorCategory = 'data'): DatabaseError =>
  new DatabaseError('ER_TEST', category, 'a message that quotes a row')

/** A ledger that takes frames unless `fails` has an error for their sequence numbers. */
class FakeLedger implements FrameLedger {
  readonly nameOf = () => 'clicks'
  readonly commits: number[][] = []
  readonly options: CommitOptions[] = []
  readonly committed: number[] = []
  readonly quarantined: [sequence: number, reason: string][] = []
  readonly #fails: (sequences: readonly number[], attempt: number) => Error | undefined

  constructor(fails: (sequences: readonly number[], attempt: number) => Error | undefined) {
    this.#fails = fails
  }

  commit = async (frames: readonly Frame[], options: CommitOptions = {}): Promise<Settled> => {
    const sequences = frames.map(({ sequence }) => sequence)
    this.commits.push(sequences)
    this.options.push(options)
    const error = this.#fails(sequences, this.commits.length)
    if (error) throw error
    this.committed.push(...sequences)
    return {
      committed: 2 * frames.length,
      duplicate: frames.length,
      quarantined: 0,
      prefixes: new Map([['ab', sequences.at(-1) ?? -1]]),
    }
  }

  quarantine = async (frames: readonly Frame[], reason: string): Promise<Settled> => {
    this.quarantined.push(...frames.map(({ sequence }): [number, string] => [sequence, reason]))
    return {
      committed: 0,
      duplicate: 0,
      quarantined: 2 * frames.length,
      prefixes: new Map([['ab', frames[0]!.sequence]]),
    }
  }
}

const settled = (
  ledger: FakeLedger,
  count: number,
  options?: CommitOptions,
  log = keptLog(),
): Promise<Settled> =>
  settle(
    ledger,
    Array.from({ length: count }, (_, i) => frame(i)),
    new BurstLogger(log, () => 0),
    options,
  )

test('frames that SQL takes are one commit', async () => {
  const ledger = new FakeLedger(() => undefined)
  const result = await settled(ledger, 5)
  assert.deepEqual(result, {
    committed: 10,
    duplicate: 5,
    quarantined: 0,
    prefixes: new Map([['ab', 4]]),
  })
  assert.deepEqual(ledger.commits, [[0, 1, 2, 3, 4]])
})

test('halving a refused batch finds the bad frame: quarantine at its third try', async () => {
  for (const bad of [0, 3, 6]) {
    const ledger = new FakeLedger((sequences) => (sequences.includes(bad) ? refused() : undefined))
    const log = keptLog()
    const result = await settled(ledger, 7, {}, log)
    assert.deepEqual(result, {
      committed: 12,
      duplicate: 6,
      quarantined: 2,
      prefixes: new Map([['ab', 6]]),
    })
    assert.deepEqual(
      ledger.committed,
      [0, 1, 2, 3, 4, 5, 6].filter((sequence) => sequence !== bad),
    )
    assert.deepEqual(ledger.quarantined, [[bad, 'ER_TEST']])
    assert.equal(
      ledger.commits.filter((sequences) => sequences.length === 1 && sequences[0] === bad).length,
      3,
    )
    assert.equal(log.lines.length, 1)
    assert.equal(
      log.lines[0],
      'wide-cache: the database refuses a frame of 2 rows of "clicks" (ER_TEST); it is kept in ' +
        'quarantine, and shown by: wide-cache quarantine list --name clicks',
    )
    assert.doesNotMatch(log.lines.join(), /quotes a row/)
  }
})

test('a frame that SQL takes at a later try is committed', async () => {
  const ledger = new FakeLedger((_, attempt) => (attempt <= 2 ? refused() : undefined))
  assert.equal((await settled(ledger, 1)).committed, 2)
  assert.deepEqual([ledger.commits, ledger.quarantined], [[[0], [0], [0]], []])
})

test('an error that is not about the rows is passed on, and quarantines no frame', async () => {
  for (const category of ['unreachable', 'lock', 'capacity', 'usage'] as const) {
    // In the whole batch; in a half of it; with a frame alone, at each of its tries.
    for (let at = 1; at <= 6; at++) {
      const ledger = new FakeLedger((_, attempt) =>
        attempt === at ? refused(category) : refused(),
      )
      await assert.rejects(settled(ledger, 4), { category }, `${category} at ${at}`)
      assert.deepEqual(ledger.quarantined.length, at > 5 ? 1 : 0)
    }
  }
  const ledger = new FakeLedger(() => new Error('a bug'))
  await assert.rejects(settled(ledger, 2), /a bug/)
  assert.equal(ledger.commits.length, 1)
})

test("rows that cannot be decoded go to quarantine, with the error's name only", async () => {
  const cause = new SyntaxError('a message that quotes a row')
  const ledger = new FakeLedger(([sequence]) =>
    sequence === 0 ? new RowsError('decode', { cause }) : undefined,
  )
  await settled(ledger, 1)
  const without = new FakeLedger(([sequence]) =>
    sequence === 0 ? new RowsError('commit') : undefined,
  )
  await settled(without, 1)
  assert.deepEqual(
    [ledger.quarantined, without.quarantined],
    [[[0, 'decode: SyntaxError']], [[0, 'commit']]],
  )
})

test('the watermark rises once all frames of the batch are settled', async () => {
  const raise = { layer: 7 } as never
  const good = new FakeLedger(() => undefined)
  await settled(good, 2, { raise })
  assert.deepEqual(
    good.options.map((options) => options.raise),
    [raise],
  )
  const ledger = new FakeLedger((sequences) => (sequences.includes(1) ? refused() : undefined))
  await settled(ledger, 3, { raise, settledHere: new Set(['ab:0']) })
  assert.deepEqual(ledger.commits.at(-1), [])
  assert.deepEqual(
    ledger.options
      .map((options) => options.raise)
      .slice(1)
      .filter((one) => one !== undefined),
    [raise],
  )
  assert.equal(ledger.options.at(-1)?.raise, raise)
  assert(ledger.options.slice(0, -1).every(({ settledHere }) => settledHere?.has('ab:0')))
  const unraised = new FakeLedger((sequences) => (sequences.includes(1) ? refused() : undefined))
  await settled(unraised, 3)
  assert(unraised.commits.every((sequences) => sequences.length > 0))
})
