import type { Timer } from '../../support/clock.js'
import { missingIn, readHint } from '../drain-hint.js'
import type { GridSettings } from '../grid-options.js'
import { MAX_AHEAD_MS } from '../published-watermark.js'
import type { DirectCommit, Reason } from './direct-commit.js'
import type { Numbering } from './numbering.js'
import type { HeldFrame, Outbox } from './outbox.js'
import type { Placer, PlacerParts } from './placer.js'

/** Interval at which the outbox is checked while a frame is in no cell, or a sum is to be told. */
const TICK_MS = 1_000

/** The longest one while all frames are in cells. It is a layer, where layers are shorter. */
export const REST_MS = 3_000

/** Interval at which SQL is asked for the prefix, and the marks are looked at. */
export const CONFIRM_EVERY_MS = 10_000

/** Time after which a frame that is not placed is committed directly. */
export const UNPLACED_MS = 5_000

/** Age at which a frame that neither the cache nor SQL has taken is placed again. */
const PLACE_AGAIN_MS = 2 * UNPLACED_MS

/** Number of refused frames after which the others wait for the next check. */
const MOST_REFUSED = 10

interface UpkeepParts extends Omit<PlacerParts, 'settings' | 'database' | 'published'> {
  readonly ledger: { prefixOf(name: string, writer: string): Promise<number> }
  readonly settings: Pick<GridSettings, 'confirmSeconds' | 'drainAfterLayers' | 'layerSeconds'> & {
    readonly name: string
  }
  readonly outbox: Outbox
  readonly placer: Placer
  readonly numbering: Numbering
  readonly direct: DirectCommit
  /** Tries to place a frame. */
  readonly place: (frame: HeldFrame) => Promise<void>
}

/**
 * Checks the outbox once a layer while it holds frames, and once a second while one is in no cell:
 * - learns from SQL which frames are confirmed
 * - commits directly the frames that the grid did not bring to SQL in time
 * - places frames that SQL does not take
 * - reports dropped rows
 */
export class Upkeep {
  readonly #parts: UpkeepParts
  #timer: Timer | undefined
  /** Moment of the next check, by `clock.elapsed()`. */
  #tickAt = Infinity
  #confirmAt = 0
  #askedAt: number
  #stopped = false
  #isBrought = false
  /** Requests in flight: SQL and the cache are each asked one thing at a time. */
  readonly #underWay = new Set<'sql' | 'cache'>()
  /**
   * Frames that a collector has not found in the layer where they were placed. Each counts as
   * missing once: one that SQL does not take directly is placed again, and may come above a gap.
   */
  readonly #missing = new WeakSet<HeldFrame>()
  /** The layer up to which the last hint names frames of. */
  #hintedTo = -1

  constructor(parts: UpkeepParts) {
    this.#parts = parts
    this.#askedAt = parts.environment.clock.elapsed()
  }

  /** Begins to check a frame that has been closed and is in the outbox. */
  begin(frame: HeldFrame): void {
    if (this.#parts.outbox.size === 1) this.#confirmAt = frame.closedAt + CONFIRM_EVERY_MS
    this.#tickIn(this.#restMs)
  }

  /** Checks within a second, because a frame was not placed, or rows were dropped. */
  tickSoon(): void {
    this.#tickIn(TICK_MS)
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** Whether a collector has brought a frame to SQL. */
  get isBrought(): boolean {
    return this.#isBrought
  }

  /** Asks SQL how far this writer's frames are settled. @throws what SQL says */
  async confirm(): Promise<void> {
    const { settings, ledger, numbering, outbox, direct, environment } = this.#parts
    this.#askedAt = environment.clock.elapsed()
    this.#confirmAt = this.#askedAt + CONFIRM_EVERY_MS
    const writer = numbering.idHex
    const prefix = await ledger.prefixOf(settings.name, writer)
    direct.retryNow()
    const held = outbox.size
    outbox.confirm(writer, prefix)
    if (outbox.size < held) this.#isBrought = true
  }

  /** Also sends the heartbeat. Never rejects. */
  async #confirmAndBeat(): Promise<void> {
    try {
      await this.confirm()
      await this.#parts.heartbeat()
    } catch {
      // No answer: the next question, or the direct commit, will do.
    }
  }

  /** Commits frames directly, and says so in the log. @throws what SQL says */
  async commit(frames: readonly HeldFrame[]): Promise<void> {
    const reason = this.#reason(frames)
    await this.#parts.direct.commit(frames)
    this.#parts.direct.log(frames, reason)
  }

  /** Sees to it that the next check is in `ms` milliseconds at the latest. */
  #tickIn(ms: number): void {
    const { clock } = this.#parts.environment
    const at = clock.elapsed() + ms
    if (this.#stopped || at >= this.#tickAt) return
    this.#timer?.cancel()
    this.#tickAt = at
    this.#timer = clock.after(ms, () => this.#tick())
  }

  /** Neither SQL nor the cache waits for the other one. */
  #tick(): void {
    this.#tickAt = Infinity
    this.#begin('sql', () => this.#confirmAndCommit())
    this.#begin('cache', async () => {
      // At once: what a collector has not found is late already.
      if (await this.#findMissing()) {
        this.#begin('sql', () => this.#confirmAndCommit())
        this.tickSoon()
      } else await this.#placeRest()
    })
    const { outbox, numbering } = this.#parts
    if (outbox.hasUnplaced || numbering.hasUnreported) this.tickSoon()
    else if (outbox.size > 0) this.#tickIn(this.#restMs)
  }

  get #restMs(): number {
    return Math.min(REST_MS, this.#parts.settings.layerSeconds * 1000)
  }

  #begin(what: 'sql' | 'cache', work: () => Promise<void>): void {
    if (this.#underWay.has(what)) return
    this.#underWay.add(what)
    void work().finally(() => this.#underWay.delete(what))
  }

  /** Learns from SQL what is confirmed, and commits what is due. Never rejects. */
  async #confirmAndCommit(): Promise<void> {
    const { outbox, environment } = this.#parts
    const elapsed = environment.clock.elapsed()
    if (outbox.size > 0 && elapsed >= this.#confirmAt) await this.#confirmAndBeat()
    if (!this.#stopped) await this.#commitDue(elapsed)
  }

  /**
   * Commits directly the frames that the grid did not bring to SQL in time, and reports dropped
   * rows.
   */
  async #commitDue(elapsed: number): Promise<void> {
    const { numbering, outbox } = this.#parts
    let due = this.#due(elapsed)
    const isLongAgo = elapsed - this.#askedAt >= CONFIRM_EVERY_MS
    const mayHaveCome = (frame: HeldFrame): boolean =>
      frame.layer !== undefined || this.#missing.has(frame)
    if (due.length > 0 && (isLongAgo || [...outbox.frames()].some(mayHaveCome))) {
      // The collectors may have brought them there meanwhile, or older ones: then the commit would
      // say that more is missing than is. And where all frames are committed directly, which
      // empties the outbox, nothing else tells of a new namespace.
      await this.#confirmAndBeat()
      due = this.#due(elapsed)
    }
    if (due[0] && this.#missing.has(due[0])) {
      // The answer confirms those behind it that have come.
      await this.#attempt([due[0]])
      due = this.#due(elapsed)
    }
    if (due.length > 0 || numbering.hasUnreported) await this.#attempt(due)
  }

  async #attempt(due: readonly HeldFrame[]): Promise<void> {
    const { outbox, numbering, direct } = this.#parts
    const reason = this.#reason(due)
    await direct.attempt(due, async () => {
      if (due.length > 0) direct.log(due, reason)
      if (outbox.size === 0 && numbering.hasUnreported) await numbering.report()
    })
  }

  /**
   * Tells whether a collector has not found a frame in its layer, or will not look there in time:
   * it was placed while the clock was ahead. Never rejects.
   */
  async #findMissing(): Promise<boolean> {
    const { cache, record, environment, settings, outbox } = this.#parts
    const { grid } = record
    if (!grid) return false
    const now = environment.clock.now()
    const farthest = grid.layers.at(now + 2 * MAX_AHEAD_MS)
    const ahead = [...outbox.frames()].filter(({ layer = 0 }) => layer > farthest)
    if (ahead.length > 0) return this.#miss(ahead)
    const newest = grid.layers.at(now) - settings.drainAfterLayers
    // The clock was ahead when a hint told of younger layers.
    if (this.#hintedTo > newest) this.#hintedTo = -1
    const isUnknown = ({ layer }: HeldFrame): boolean =>
      layer !== undefined && layer <= newest && layer > this.#hintedTo
    if (![...outbox.frames()].some(isUnknown)) return false
    const hint = await readHint(cache, grid)
    if (!hint) return false
    // Younger layers are not drained, whatever a hint says.
    const to = Math.min(hint.to, newest)
    const { missing, isSure } = missingIn({ ...hint, to }, outbox.frames())
    if (isSure) this.#hintedTo = to
    return this.#miss(missing)
  }

  /** Notes that no collector brings some frames. Tells whether it has not been noted before. */
  #miss(frames: readonly HeldFrame[]): boolean {
    const found = frames.filter((frame) => !this.#missing.has(frame))
    for (const frame of found) {
      this.#parts.outbox.miss(frame)
      this.#missing.add(frame)
    }
    return found.length > 0
  }

  /**
   * Places what neither cache nor SQL has taken: the cache may be back before SQL, and what is in
   * no cell is lost if the process is killed. Never rejects.
   */
  async #placeRest(): Promise<void> {
    const { environment, outbox, place, placer } = this.#parts
    const { clock } = environment
    let refused = 0
    for (const frame of outbox.frames()) {
      if (this.#stopped || clock.elapsed() - frame.closedAt < PLACE_AGAIN_MS) return
      if (frame.layer !== undefined) continue
      await place(frame)
      if (placer.down || (frame.layer === undefined && ++refused === MOST_REFUSED)) return
    }
  }

  #due(now: number): HeldFrame[] {
    const { settings, sameCache, outbox, placer } = this.#parts
    return [...outbox.frames()].filter((frame) => {
      const age = now - frame.closedAt
      return (
        sameCache.differs ||
        age >= settings.confirmSeconds * 1000 ||
        (frame.layer === undefined && (age >= UNPLACED_MS || placer.down))
      )
    })
  }

  /** Returns the reason why frames are committed directly. */
  #reason(due: readonly HeldFrame[]): Reason {
    const { settings, sameCache, placer } = this.#parts
    if (sameCache.differs) return { code: 'differs', why: 'the collectors use another cache' }
    const others = due.filter((frame) => !this.#missing.has(frame))
    if (others.length === 0) {
      return { code: 'missing', why: 'the collector has not found them in the cache' }
    }
    if (!others.every((frame) => frame.layer !== undefined)) {
      return { code: 'unplaced', why: placer.why }
    }
    const why =
      `they were in the cache for ${settings.confirmSeconds} s, and no collector has brought ` +
      'them to SQL'
    return { code: 'unconfirmed', why }
  }
}
