import assert from 'node:assert/strict'
import type { SqlRow } from '../database/database.js'
import type { FrameHeader } from './frame.js'

/**
 * What the ledger knows of one writer, while its row is locked: which frames are new, how far the prefix
 * reaches, and what is lost. Pure arithmetic between two SQL statements.
 */
export class WriterEntry {
  readonly writer: string
  prefix: number
  /** Rows lost for good: of frames the writer has let go of and the prefix has passed. */
  lost: number
  /** Rows of the frames taken, and of those that had been settled before, in this transaction. */
  taken = 0
  duplicate = 0
  /** A floor seen `agingSince`: a cell TTL later nothing below it can come any more. 0: none. */
  agingFloor: number
  agingIssued: number
  agingSince: number
  /** The settled frames above the prefix, with their row counts. */
  readonly known = new Map<number, number>()
  readonly #new = new Set<number>()
  readonly #settled: number
  readonly #floor: number
  readonly #floorIssued: number

  constructor(writer: string, row: SqlRow) {
    this.writer = writer
    this.prefix = Number(row['prefix'])
    this.lost = Number(row['lost'])
    this.#settled = Number(row['committed']) + Number(row['quarantined'])
    this.#floor = Number(row['floor'])
    this.#floorIssued = Number(row['floor_issued'])
    this.agingFloor = Number(row['aging_floor'])
    this.agingIssued = Number(row['aging_issued'])
    this.agingSince = Number(row['aging_since'])
  }

  /** Enters a frame. `false`: it has been settled before. */
  take({ sequence, rowCount }: Pick<FrameHeader, 'sequence' | 'rowCount'>): boolean {
    if (sequence <= this.prefix || this.known.has(sequence)) {
      this.duplicate += rowCount
      return false
    }
    this.known.set(sequence, rowCount)
    this.#new.add(sequence)
    this.taken += rowCount
    return true
  }

  /**
   * Moves the prefix over all that is settled without a gap, and over what is missing below a floor that has
   * aged by `ttl` milliseconds: that is lost. Says which new frames still need entries of their own, and
   * whether entries of earlier transactions have been passed.
   */
  compact(now: number, ttl: number): { newlyKept: { sequence: number; rowCount: number }[]; passed: boolean } {
    const before = this.prefix
    this.#advance()
    if (this.agingFloor > this.prefix + 1 && now - this.agingSince > ttl) {
      let above = 0
      for (const [sequence, rowCount] of this.known) if (sequence >= this.agingFloor) above += rowCount
      // All the rows ever issued below the floor, less those of them that are settled.
      this.lost = this.agingIssued - (this.#settled + this.taken - above)
      assert(this.lost >= 0, 'more rows settled than issued')
      this.prefix = this.agingFloor - 1
      this.#advance()
    }
    if (this.agingFloor <= this.prefix + 1) {
      const waits = this.#floor > this.prefix + 1
      this.agingFloor = waits ? this.#floor : 0
      this.agingIssued = waits ? this.#floorIssued : 0
      this.agingSince = waits ? now : 0
    }
    const newlyKept: { sequence: number; rowCount: number }[] = []
    let passed = false
    for (const [sequence, rowCount] of this.known) {
      if (sequence <= this.prefix) passed ||= !this.#new.has(sequence)
      else if (this.#new.has(sequence)) newlyKept.push({ sequence, rowCount })
    }
    assert(this.prefix >= before, 'a prefix never falls')
    return { newlyKept, passed }
  }

  #advance(): void {
    while (this.known.has(this.prefix + 1)) this.prefix++
  }
}
