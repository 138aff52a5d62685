import { warnOfFailure } from '../../connections/warn-failure.js'
import type { Timer } from '../../support/clock.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import { counted } from '../../support/printable.js'
import type { BurstLogger } from '../../support/logger.js'
import { frameBatches } from '../ledger/frame-batches.js'
import { type FrameLedger, settle } from '../ledger/settle.js'
import type { HeldFrame, Outbox } from './outbox.js'

/**
 * First and longest wait after attempts that fail. The wait doubles from one to the other. Each is
 * up to a half shorter or longer, at random, so that processes do not retry all at once.
 */
const BACKOFF_FIRST_MS = 1_000
const BACKOFF_LAST_MS = 30_000

/** Time without a direct commit before the log says that there are no more. */
const QUIET_MS = 20_000

/** Reason of direct commits: `code` tells one from another, `why` puts it in words. */
export interface Reason {
  readonly code: string
  readonly why: string
}

interface DirectCommitParts {
  readonly settings: { readonly name: string; readonly maxCommitRows: number }
  readonly environment: Environment
  readonly logger: BurstLogger
  readonly ledger: FrameLedger
}

/**
 * Commits a writer's frames itself, through the same ledger, one commit at a time: the only
 * fallback. The answer confirms the frames, and the outbox removes them.
 */
export class DirectCommit {
  readonly #parts: DirectCommitParts
  readonly #outbox: Outbox
  #underWay: Promise<void> | undefined
  #commits = 0
  #rows = 0
  #backoff = 0
  #notBefore = 0
  /** Code of the reason that the log has given, and whose end it is to report. */
  #logged: string | undefined
  #loggedFrames = 0
  #loggedRows = 0
  #quiet: Timer | undefined

  constructor(parts: DirectCommitParts, outbox: Outbox) {
    this.#parts = parts
    this.#outbox = outbox
  }

  /** Transactions that have committed frames, or put them into quarantine, so far. */
  get commits(): number {
    return this.#commits
  }

  /** Their rows. */
  get rows(): number {
    return this.#rows
  }

  /**
   * Commits those of `frames` that are still held. @throws the error of SQL; the rest stays in the
   * outbox.
   */
  async commit(frames: readonly HeldFrame[]): Promise<void> {
    while (this.#underWay) await this.#underWay
    const work = this.#settle(frames)
    this.#underWay = work
      .catch(() => undefined)
      .finally(() => {
        this.#underWay = undefined
      })
    await work
  }

  /**
   * Commits `frames`, then runs `afterwards`. Logs a failure, and does nothing for some time after
   * it. Never rejects.
   */
  async attempt(frames: readonly HeldFrame[], afterwards: () => Promise<void>): Promise<void> {
    const {
      environment: { clock, random },
      logger,
    } = this.#parts
    const now = clock.elapsed()
    if (now < this.#notBefore) return
    try {
      await this.commit(frames)
      await afterwards()
      this.#backoff = 0
      if (frames.length > 0) {
        logger.recovered('direct commit', 'wide-cache: the database accepts direct commits again')
      }
    } catch (error) {
      this.#backoff = Math.min(BACKOFF_LAST_MS, Math.max(BACKOFF_FIRST_MS, this.#backoff * 2))
      this.#notBefore = now + this.#backoff * (0.5 + random())
      const kept = frames.filter((frame) => this.#outbox.has(frame)).length
      warnOfFailure(
        logger,
        'direct commit',
        error,
        kept > 0
          ? `wide-cache: this process holds ${counted(kept, 'frame')} that SQL has not ` +
              `committed, and retries: ${messageOf(error)}`
          : 'wide-cache: this process has not written its row counts to SQL, and retries: ' +
              messageOf(error),
        now,
      )
    }
  }

  /** Ends the wait after a failure, because the database answers. */
  retryNow(): void {
    this.#notBefore = 0
  }

  /**
   * Says in the log that frames were committed directly, and why: once, until the reason changes or
   * there were none for 20 s.
   */
  log(frames: readonly HeldFrame[], { code, why }: Reason): void {
    const { environment, logger, settings } = this.#parts
    if (code !== this.#logged) {
      logger.warn(
        `direct commits: ${code}`,
        `wide-cache: this process commits frames of "${settings.name}" directly: ` +
          `${why}; nothing is lost`,
      )
    }
    this.#logged = code
    this.#loggedFrames += frames.length
    for (const { rowCount } of frames) this.#loggedRows += rowCount
    this.#quiet?.cancel()
    this.#quiet = environment.clock.after(QUIET_MS, () => this.logEnd())
  }

  /** Says in the log that there are no more direct commits, if it has reported any. */
  logEnd(): void {
    this.#quiet?.cancel()
    if (this.#logged === undefined) return
    this.#parts.logger.recovered(
      `direct commits: ${this.#logged}`,
      `wide-cache: this process commits no more frames of "${this.#parts.settings.name}" ` +
        `directly; it has committed ${counted(this.#loggedFrames, 'frame')} with ` +
        counted(this.#loggedRows, 'row'),
    )
    this.#logged = undefined
    this.#loggedFrames = this.#loggedRows = 0
  }

  async #settle(frames: readonly HeldFrame[]): Promise<void> {
    for (const batch of frameBatches(
      frames.filter((frame) => this.#outbox.has(frame)),
      this.#parts.settings.maxCommitRows,
    )) {
      // Since a frame was numbered, older ones may have been confirmed.
      const now = batch.map((frame) => ({ ...frame, ...this.#outbox.floorFor(frame) }))
      const { prefixes } = await settle(this.#parts.ledger, now, this.#parts.logger, {
        isDirect: true,
      })
      this.#commits++
      for (const { rowCount } of batch) this.#rows += rowCount
      for (const frame of batch) {
        this.#outbox.remove(frame)
        this.#outbox.confirm(frame.writer, prefixes.get(frame.writer) ?? -1)
      }
    }
  }
}
