import type { Cache } from '../../cache/cache.js'
import { sleep } from '../../support/clock.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import type { BurstLogger } from '../../support/logger.js'
import type { DirectCommit } from './direct-commit.js'
import type { Numbering } from './numbering.js'
import type { HeldFrame, Outbox } from './outbox.js'
import type { Upkeep } from './upkeep.js'

/**
 * Outcome for the rows that a writer still held when it was closed. `lost` is exact if SQL
 * answered, and an upper bound otherwise.
 */
export interface CloseReport {
  /** Rows that SQL has now. */
  committed: number
  /** Rows that SQL refused, kept in wide_cache_quarantine. */
  quarantined: number
  /** Rows that SQL did not take in time and that wait in the cache for a collector. */
  inCache: number
  /** Rows that neither took. */
  lost: number
}

/** Wait between the tries to reach SQL. */
const RETRY_MS = 200

interface ClosingParts {
  readonly cache: Pick<Cache, 'scope'>
  readonly ledger: { quarantinedOf(writer: string): Promise<ReadonlySet<number>> }
  readonly environment: Environment
  readonly logger: BurstLogger
  readonly closeTimeoutMs: number
  readonly outbox: Outbox
  readonly numbering: Numbering
  readonly direct: DirectCommit
  readonly upkeep: Upkeep
  /** Tries to place a frame. */
  readonly place: (frame: HeldFrame) => Promise<void>
}

/**
 * Closes a writer: brings all frames that it holds, and its final sums, straight to SQL within
 * `closeTimeoutMs`. Leaves in the cache the frames that SQL did not take.
 */
export class Closing {
  readonly #parts: ClosingParts
  readonly #held: readonly HeldFrame[]
  /** The sequence numbers of frames that were quarantined. */
  readonly #quarantined = new Set<number>()

  /** Made when no more frames come. */
  constructor(parts: ClosingParts) {
    this.#parts = parts
    this.#held = [...parts.outbox.frames()]
  }

  async run(): Promise<CloseReport> {
    const { environment, closeTimeoutMs, outbox, place } = this.#parts
    const { clock } = environment
    const deadline = clock.elapsed() + closeTimeoutMs
    const timeout = sleep(clock, closeTimeoutMs).then(() => undefined)
    const placing = Promise.all(
      this.#held.map((frame) => (frame.placed ? undefined : place(frame))),
    )
    while (clock.elapsed() < deadline) {
      if (await Promise.race([this.#commitAll(), timeout])) break
      await sleep(clock, RETRY_MS)
    }
    if (outbox.size > 0) await Promise.race([placing, timeout])
    return this.#report()
  }

  /** Brings all that is held to SQL, and the final sums. Returns whether SQL took all. */
  async #commitAll(): Promise<boolean> {
    const { ledger, logger, outbox, numbering, direct, upkeep } = this.#parts
    try {
      if (outbox.size > 0) await upkeep.confirm()
      await direct.commit([...outbox.frames()])
      if (this.#held.length > 0) {
        for (const sequence of await ledger.quarantinedOf(numbering.idHex)) {
          this.#quarantined.add(sequence)
        }
      }
      await numbering.report()
      return true
    } catch (error) {
      logger.warn(
        'close',
        `wide-cache: closing, the database does not take what is held: ${messageOf(error)}`,
      )
      return false
    }
  }

  #report(): CloseReport {
    const report: CloseReport = { committed: 0, quarantined: 0, inCache: 0, lost: 0 }
    for (const frame of this.#held) report[this.#fateOf(frame)] += frame.rowCount
    return report
  }

  #fateOf(frame: HeldFrame): keyof CloseReport {
    const { outbox, cache } = this.#parts
    if (!outbox.has(frame)) {
      return this.#quarantined.has(frame.sequence) ? 'quarantined' : 'committed'
    }
    // A private cache ends with this process.
    return frame.placed && cache.scope !== 'private' ? 'inCache' : 'lost'
  }
}
