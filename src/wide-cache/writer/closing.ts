import type { Cache } from '../../cache/cache.js'
import { sleep, type TimeLimit, timeLimit } from '../../support/clock.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import type { BurstLogger } from '../../support/logger.js'
import type { GridSettings } from '../grid-options.js'
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
  /** Rows that SQL did not take in time. They wait in the cache for a collector. */
  inCache: number
  /** Rows that neither has taken. */
  lost: number
}

/** Wait between the tries to reach SQL, and the cache. */
const RETRY_MS = 200

/**
 * Time without SQL after which frames are placed again that had been placed before: the cache may
 * have lost them since then, and nobody is left who would know.
 */
const PLACE_AGAIN_MS = 500

/** Frames that are on their way to the cache at a time. */
const PLACED_AT_ONCE = 100

interface ClosingParts {
  readonly cache: Pick<Cache, 'scope'>
  readonly ledger: {
    quarantinedOf(name: string, writer: string): Promise<ReadonlySet<number>>
  }
  readonly environment: Environment
  readonly logger: BurstLogger
  readonly settings: Pick<GridSettings, 'closeTimeoutMs'> & { readonly name: string }
  readonly outbox: Outbox
  readonly numbering: Numbering
  readonly direct: DirectCommit
  readonly upkeep: Upkeep
  /** Places a frame, even if it has been placed before. Resolves to whether this call did. */
  readonly place: (frame: HeldFrame) => Promise<boolean>
}

/**
 * Closes a writer: commits all frames that it holds, and its final sums, within `closeTimeoutMs`,
 * and within twice that time while SQL answers and frames would be lost. Places in the cache the
 * frames that SQL does not take.
 */
export class Closing {
  readonly #parts: ClosingParts
  readonly #held: readonly HeldFrame[]
  /** Frames that the cache has taken since then. What it took before may be gone. */
  readonly #inCache = new Set<HeldFrame>()
  /** Frames that it has not taken again: what it took before is gone, as far as is known. */
  readonly #refused = new Set<HeldFrame>()
  /** Until frames are placed again. */
  #pause: TimeLimit | undefined
  /** What is still under way then fails because connections are closed. */
  #isOver = false
  /** Whether SQL has answered since it last failed. */
  #isAnswered = false
  /** The sequence numbers of frames that were quarantined. */
  readonly #quarantined = new Set<number>()

  /** Made when no more frames come. */
  constructor(parts: ClosingParts) {
    this.#parts = parts
    this.#held = [...parts.outbox.frames()]
  }

  async run(): Promise<CloseReport> {
    const { environment, settings } = this.#parts
    const { clock } = environment
    const { closeTimeoutMs } = settings
    const deadline = clock.elapsed() + closeTimeoutMs
    const limit = timeLimit(clock, closeTimeoutMs)
    const last = timeLimit(clock, 2 * closeTimeoutMs)
    const over = limit.over.then(async () => {
      if (this.#isAnswered && this.#report().lost > 0) await last.over
      return true
    })
    void this.#placeAll(deadline)
    while (!(await Promise.race([this.#commitAll(), over])) && clock.elapsed() < deadline) {
      await sleep(clock, RETRY_MS)
    }
    limit.cancel()
    last.cancel()
    this.#pause?.cancel()
    this.#isOver = true
    return this.#report()
  }

  /** Places what SQL has not taken, until `deadline`: at first what is in no cell. */
  async #placeAll(deadline: number): Promise<void> {
    const { cache, settings, environment, outbox, place } = this.#parts
    const { clock } = environment
    // Where there is little time, at once.
    const patienceMs = settings.closeTimeoutMs > 2 * PLACE_AGAIN_MS ? PLACE_AGAIN_MS : 0
    const againAt = cache.scope === 'private' ? Infinity : clock.elapsed() + patienceMs
    for (;;) {
      const isRepeat = clock.elapsed() >= againAt
      const missing = this.#held.filter(
        (frame) =>
          outbox.has(frame) && !this.#inCache.has(frame) && (isRepeat || frame.layer === undefined),
      )
      for (let at = 0; at < missing.length && clock.elapsed() < deadline; at += PLACED_AT_ONCE) {
        await Promise.all(
          missing.slice(at, at + PLACED_AT_ONCE).map(async (frame) => {
            if (isRepeat) await frame.placing
            const set = (await place(frame)) ? this.#inCache : this.#refused
            set.add(frame)
          }),
        )
      }
      if (outbox.size === 0 || clock.elapsed() + RETRY_MS >= deadline) return
      this.#pause = timeLimit(clock, RETRY_MS)
      await this.#pause.over
    }
  }

  /** Brings all that is held to SQL, and the final sums. Returns whether SQL took all. */
  async #commitAll(): Promise<boolean> {
    const { ledger, logger, settings, outbox, numbering, direct, upkeep } = this.#parts
    try {
      // What collectors have brought is not committed again.
      if (outbox.size > 0) await upkeep.confirm()
      this.#isAnswered = true
      // Those in no cell first: they are in this process alone.
      const isPlaced = ({ layer }: HeldFrame): number => (layer === undefined ? 0 : 1)
      await direct.commit([...outbox.frames()].sort((one, two) => isPlaced(one) - isPlaced(two)))
      if (this.#held.length > 0) {
        for (const sequence of await ledger.quarantinedOf(settings.name, numbering.idHex)) {
          this.#quarantined.add(sequence)
        }
      }
      await numbering.report()
      return true
    } catch (error) {
      this.#isAnswered = false
      if (!this.#isOver) {
        logger.warn(
          'close',
          `wide-cache: close() of "${settings.name}" has not written everything to SQL yet: ` +
            messageOf(error),
        )
      }
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
    const isInCache =
      this.#inCache.has(frame) || (frame.layer !== undefined && !this.#refused.has(frame))
    // A private cache ends with this process.
    return isInCache && cache.scope !== 'private' ? 'inCache' : 'lost'
  }
}
