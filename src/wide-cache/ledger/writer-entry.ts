import assert from 'node:assert/strict'
import type { SqlRow } from '../../database/database.js'
import type { FrameHeader } from '../frame.js'

/** Settled frames of one writer, without a gap between them. */
export interface SettledRange {
  readonly first: number
  last: number
  /** Rows the writer had issued before the first. */
  readonly issued: number
  /** Rows in all of them. */
  rows: number
}

/**
 * State of one writer in the ledger, while its row is locked: which frames are new, how far the
 * prefix reaches, and what is lost. Pure arithmetic between two SQL statements.
 */
export class WriterEntry {
  readonly writer: string
  /** The safe clock; 0: the name has no row any more. */
  readonly safeAt: number
  prefix: number
  /** Rows lost for good: of frames the writer has let go of and the prefix has passed. */
  lost: number
  /** Rows of the frames taken in this transaction, and of those that came again. */
  taken = 0
  duplicate = 0
  /**
   * A floor seen `agingSince`, by the safe clock: a cell TTL later nothing below it can come any
   * more. 0: none.
   */
  agingFloor: number
  agingIssued: number
  agingSince: number
  /** Rows that did not come, for any reason, and the moment at which their number last changed. */
  gone: number
  goneAt: number
  readonly #dropped: number
  readonly #quarantined: number
  readonly #settled: number
  readonly #floor: number
  readonly #floorIssued: number
  /** Ranges that SQL has above the prefix: the last sequence number of each, by its first. */
  readonly #stored = new Map<number, number>()
  /** The settled frames above the prefix, in ascending order. */
  #ranges: SettledRange[] = []

  constructor(writer: string, row: SqlRow) {
    this.writer = writer
    this.safeAt = Number(row['safe_at'] ?? 0)
    this.prefix = Number(row['prefix'])
    this.lost = Number(row['lost'])
    this.#quarantined = Number(row['quarantined'])
    this.#dropped = Number(row['dropped'])
    this.#settled = Number(row['committed']) + this.#quarantined
    this.#floor = Number(row['floor'])
    this.#floorIssued = Number(row['floor_issued'])
    this.agingFloor = Number(row['aging_floor'])
    this.agingIssued = Number(row['aging_issued'])
    this.agingSince = Number(row['aging_since'])
    this.gone = Number(row['gone'])
    this.goneAt = Number(row['gone_at'])
  }

  /** Adds a range that SQL has; to be called in ascending order. */
  load(range: SettledRange): void {
    assert(
      range.first > (this.#ranges.at(-1)?.last ?? this.prefix),
      'ranges are above the prefix and apart',
    )
    this.#ranges.push(range)
    this.#stored.set(range.first, range.last)
  }

  /** Enters a frame. `false`: it has been settled before. */
  take({
    sequence,
    issued,
    rowCount,
  }: Pick<FrameHeader, 'sequence' | 'issued' | 'rowCount'>): boolean {
    if (sequence <= this.prefix) return false
    const after = this.#indexOf(sequence)
    const before = this.#ranges[after - 1]
    if (before && sequence <= before.last) return false
    const next = this.#ranges[after]
    const joins = before?.last === sequence - 1
    if (joins) {
      before.last = sequence
      before.rows += rowCount
    } else {
      this.#ranges.splice(after, 0, { first: sequence, last: sequence, issued, rows: rowCount })
    }
    const range = joins ? before : this.#ranges[after]!
    if (next?.first === sequence + 1) {
      range.last = next.last
      range.rows += next.rows
      this.#ranges.splice(this.#ranges.indexOf(next, after), 1)
    }
    this.taken += rowCount
    return true
  }

  /**
   * Moves the prefix over all frames that are settled without a gap, and over frames missing below
   * a floor that has aged by more than `agedMs` on the safe clock: their rows are lost. Returns the
   * changes to the stored ranges.
   */
  compact(agedMs: number): { removed: number[]; changed: SettledRange[] } {
    const before = this.prefix
    this.#advance()
    if (this.safeAt > 0) this.#age(agedMs)
    assert(this.prefix >= before, 'a prefix never falls')
    const kept = new Set(this.#ranges.map(({ first }) => first))
    return {
      removed: [...this.#stored.keys()].filter((first) => !kept.has(first)),
      changed: this.#ranges.filter(({ first, last }) => this.#stored.get(first) !== last),
    }
  }

  /**
   * Adds up the rows that did not come. `quarantined`: those of this transaction. Called after
   * `compact`.
   */
  addGone(quarantined: number, now: number): void {
    const gone = this.#quarantined + quarantined + this.#dropped + this.lost
    if (gone === this.gone) return
    this.gone = gone
    this.goneAt = now
  }

  /** Returns the index of the first range that begins behind `sequence`. */
  #indexOf(sequence: number): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#ranges[middle]!.first > sequence) high = middle
      else low = middle + 1
    }
    return low
  }

  #age(agedMs: number): void {
    const { safeAt } = this
    // It was ahead when this was written.
    if (this.agingSince > safeAt) this.agingSince = safeAt
    if (this.agingFloor > this.prefix + 1 && safeAt - this.agingSince > agedMs) this.#giveUp()
    if (this.agingFloor > this.prefix + 1) return
    const waits = this.#floor > this.prefix + 1
    this.agingFloor = waits ? this.#floor : 0
    this.agingIssued = waits ? this.#floorIssued : 0
    this.agingSince = waits ? safeAt : 0
  }

  #advance(): void {
    while (this.#ranges[0]?.first === this.prefix + 1) this.prefix = this.#ranges.shift()!.last
  }

  /** Counts the rows of the gaps below the aged floor as lost, and moves the prefix there. */
  #giveUp(): void {
    // Rows issued up to the end of what has been looked at.
    let issued = this.#settled + this.taken + this.lost
    for (const { rows } of this.#ranges) issued -= rows
    for (
      let range = this.#ranges[0];
      range && range.first < this.agingFloor;
      range = this.#ranges[0]
    ) {
      this.#lose(range.issued - issued)
      issued = range.issued + range.rows
      this.prefix = range.last
      this.#ranges.shift()
    }
    if (this.prefix < this.agingFloor - 1) {
      this.#lose(this.agingIssued - issued)
      this.prefix = this.agingFloor - 1
    }
    this.#advance()
  }

  /**
   * Counts rows as lost. Frames that contradict each other, which only a forger makes, lose
   * nothing.
   */
  #lose(rows: number): void {
    this.lost += Math.max(0, rows)
  }
}
