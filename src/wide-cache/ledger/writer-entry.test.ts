import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/fast-check.js'
import { WriterEntry } from './writer-entry.js'

const TTL = 1_000
const START = 1_700_000_000_000
const NEW = {
  safe_at: START,
  prefix: -1,
  lost: 0,
  committed: 0,
  quarantined: 0,
  floor: 0,
  floor_issued: 0,
  aging_floor: 0,
  aging_issued: 0,
  aging_since: 0,
  dropped: 0,
  gone: 0,
  gone_at: 0,
}

/** A writer whose frame n has n % 3 + 1 rows. */
const rowsOf = (sequence: number): number => (sequence % 3) + 1
const issuedBefore = (sequence: number): number =>
  Array.from({ length: sequence }, (_, i) => rowsOf(i)).reduce((sum, rows) => sum + rows, 0)
const frame = (sequence: number) => ({
  sequence,
  issued: issuedBefore(sequence),
  rowCount: rowsOf(sequence),
})

/** The ledger's rows of one writer, as transactions leave them. */
class Stored {
  row: Record<string, number> = { ...NEW }
  readonly ranges = new Map<number, { first: number; last: number; issued: number; rows: number }>()

  /** One transaction, `ms` after the start: takes frames and compacts. Returns which were new. */
  commit(sequences: readonly number[], ms: number, floor = 0): boolean[] {
    this.row = {
      ...this.row,
      safe_at: START + ms,
      floor: Math.max(this.row['floor']!, floor),
      floor_issued: Math.max(this.row['floor_issued']!, issuedBefore(floor)),
    }
    const entry = new WriterEntry('ab', this.row)
    for (const range of [...this.ranges.values()].sort((a, b) => a.first - b.first)) {
      entry.load({ ...range })
    }
    const fresh = sequences.map((sequence) => entry.take(frame(sequence)))
    const { removed, changed } = entry.compact(TTL)
    for (const first of removed) this.ranges.delete(first)
    for (const range of changed) this.ranges.set(range.first, { ...range })
    this.row = {
      ...this.row,
      prefix: entry.prefix,
      lost: entry.lost,
      committed: this.row['committed']! + entry.taken,
      aging_floor: entry.agingFloor,
      aging_issued: entry.agingIssued,
      aging_since: entry.agingSince,
    }
    return fresh
  }

  /** First and last of each range above the prefix. */
  get above(): [number, number][] {
    return [...this.ranges.values()]
      .sort((a, b) => a.first - b.first)
      .map(({ first, last }) => [first, last])
  }
}

/** The runs of neighbours in a set of numbers, from `above` on. */
function runsOf(numbers: ReadonlySet<number>, above: number): [number, number][] {
  const runs: [number, number][] = []
  for (const number of [...numbers].filter((one) => one > above).sort((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else runs.push([number, number])
  }
  return runs
}

test('law: in any order each frame is new once, and prefix and ranges are exact', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.integer({ min: 0, max: 25 }), { maxLength: 8 }), { maxLength: 12 }),
      (transactions) => {
        const stored = new Stored()
        const seen = new Set<number>()
        for (const sequences of transactions) {
          const expected = sequences.map(
            (sequence) => !seen.has(sequence) && Boolean(seen.add(sequence)),
          )
          assert.deepEqual(stored.commit(sequences, 0), expected)
          let prefix = -1
          while (seen.has(prefix + 1)) prefix++
          assert.equal(stored.row['prefix'], prefix)
          assert.deepEqual(stored.above, runsOf(seen, prefix))
          for (const { first, last, issued, rows } of stored.ranges.values()) {
            assert.deepEqual(
              [issued, rows],
              [issuedBefore(first), issuedBefore(last + 1) - issuedBefore(first)],
            )
          }
          assert.equal(
            stored.row['committed'],
            [...seen].reduce((sum, sequence) => sum + rowsOf(sequence), 0),
          )
          assert.equal(stored.row['lost'], 0)
        }
      },
    ),
  )
})

test('law: rows missing below an aged floor are lost, exactly, and the prefix goes on', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 25 })),
      fc.integer({ min: 0, max: 25 }),
      (sequences, floor) => {
        const stored = new Stored()
        stored.commit(sequences, 0, floor)
        const seen = new Set(sequences)
        stored.commit([], TTL, floor)
        assert.equal(stored.row['lost'], 0, 'not within the TTL')
        stored.commit([], TTL + 1, floor)
        const missing = Array.from({ length: floor }, (_, i) => i).filter(
          (sequence) => !seen.has(sequence),
        )
        assert.equal(
          stored.row['lost'],
          missing.reduce((sum, sequence) => sum + rowsOf(sequence), 0),
        )
        let prefix = floor - 1
        while (seen.has(prefix + 1)) prefix++
        assert.equal(stored.row['prefix'], prefix)
        assert.deepEqual(stored.above, runsOf(seen, prefix))
        assert.deepEqual(
          [stored.row['aging_floor'], stored.row['aging_issued'], stored.row['aging_since']],
          [0, 0, 0],
        )
        // What comes all the same is too late.
        assert.deepEqual(
          stored.commit(missing, TTL + 2, floor),
          missing.map(() => false),
        )
      },
    ),
  )
})

test('a floor ages from when it was first seen, and a higher one only after it', () => {
  const stored = new Stored()
  stored.commit([5], 100, 3)
  assert.deepEqual(
    [stored.row['aging_floor'], stored.row['aging_issued'], stored.row['aging_since']],
    [3, issuedBefore(3), START + 100],
  )
  stored.commit([9], 600, 7)
  assert.equal(stored.row['aging_floor'], 3)
  stored.commit([], 1_101, 7)
  assert.deepEqual([stored.row['prefix'], stored.row['lost']], [2, issuedBefore(3)])
  assert.deepEqual([stored.row['aging_floor'], stored.row['aging_since']], [7, START + 1_101])
  stored.commit([], 2_101, 7)
  assert.equal(stored.row['prefix'], 2)
  stored.commit([], 2_102, 7)
  assert.deepEqual(
    [stored.row['prefix'], stored.row['lost'], stored.above],
    [6, issuedBefore(7) - rowsOf(5), [[9, 9]]],
  )
})

test('a floor whose gap has been filled ages no more', () => {
  const stored = new Stored()
  stored.commit([1], 100, 2)
  assert.equal(stored.row['aging_floor'], 2)
  stored.commit([0], 200, 2)
  assert.deepEqual(
    [
      stored.row['prefix'],
      stored.row['aging_floor'],
      stored.row['aging_issued'],
      stored.row['aging_since'],
    ],
    [1, 0, 0, 0],
  )
})

test('a floor written when the safe clock was ahead ages from now on', () => {
  const stored = new Stored()
  stored.commit([1], 1e9, 1)
  stored.commit([], 100, 1)
  assert.equal(stored.row['aging_since'], START + 100)
  stored.commit([], 100 + TTL, 1)
  assert.equal(stored.row['lost'], 0)
  stored.commit([], 101 + TTL, 1)
  assert.equal(stored.row['lost'], rowsOf(0))
})

test('nothing ages while the name has no row, and so no safe clock', () => {
  const stored = new Stored()
  for (const ms of [-START, 10 * TTL, -START, 11 * TTL]) {
    stored.commit([1], ms, 1)
    assert.deepEqual([stored.row['lost'], stored.row['prefix']], [0, -1])
  }
  stored.commit([], 11 * TTL + 1, 1)
  assert.deepEqual([stored.row['lost'], stored.row['prefix']], [rowsOf(0), 1])
})

test('rows in quarantine are settled too', () => {
  const entry = new WriterEntry('ab', {
    ...NEW,
    prefix: 1,
    quarantined: issuedBefore(2),
    floor: 3,
    floor_issued: issuedBefore(3),
    aging_floor: 3,
    aging_issued: issuedBefore(3),
    aging_since: START - TTL - 1,
  })
  entry.compact(TTL)
  assert.deepEqual([entry.prefix, entry.lost], [2, rowsOf(2)])
})

test('only ranges that have changed are written', () => {
  const entry = new WriterEntry('ab', NEW)
  entry.load({ first: 2, last: 3, issued: 0, rows: 1 })
  entry.load({ first: 5, last: 5, issued: 0, rows: 1 })
  entry.load({ first: 8, last: 9, issued: 0, rows: 1 })
  assert.equal(entry.take(frame(4)), true)
  assert.equal(entry.take(frame(7)), true)
  assert.equal(entry.take(frame(9)), false)
  const { removed, changed } = entry.compact(TTL)
  assert.deepEqual(
    [removed, changed.map(({ first, last }) => [first, last])],
    [
      [5, 8],
      [
        [2, 5],
        [7, 9],
      ],
    ],
  )
  assert.throws(
    () => entry.load({ first: 9, last: 9, issued: 0, rows: 1 }),
    /ranges are above the prefix and apart/,
  )
})

test('frames that contradict each other lose nothing, and stop no commit', () => {
  // Forged: eleven rows in two frames, and a floor above them that says that three were issued.
  const aging = { aging_floor: 9, aging_issued: 3, aging_since: START - TTL - 1 }
  const entry = new WriterEntry('ab', { ...NEW, ...aging })
  entry.take({ sequence: 2, issued: 0, rowCount: 10 })
  entry.take({ sequence: 6, issued: 2, rowCount: 1 })
  entry.compact(TTL)
  assert.deepEqual([entry.prefix, entry.lost, entry.taken], [8, 0, 11])
})

test('rows quarantined, dropped and lost are added up, with the time of their last change', () => {
  const gone = (row: Partial<typeof NEW>, quarantined: number, now: number) => {
    const entry = new WriterEntry('ab', { ...NEW, ...row })
    entry.addGone(quarantined, now)
    return [entry.gone, entry.goneAt]
  }
  assert.deepEqual(gone({}, 0, 9), [0, 0])
  assert.deepEqual(gone({ quarantined: 1, dropped: 2, lost: 4 }, 8, 9), [15, 9])
  const same = { quarantined: 1, dropped: 2, lost: 4, gone: 7, gone_at: 5 }
  assert.deepEqual(gone(same, 0, 9), [7, 5])
  // Somebody has retried what was in quarantine.
  assert.deepEqual(gone({ ...same, quarantined: 0 }, 0, 9), [6, 9])
})
