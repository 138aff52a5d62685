import type { Generation } from './generation-record.js'

/** Time for which a process acts on what SQL has said, in ms, counted from before it asked. */
export const CURRENT_MS = 500

/**
 * Time for which a process must have known a generation, in ms, before it may say that no process
 * acts on an earlier one. The clocks of two machines may differ by a third in their pace.
 */
export const ESTABLISH_MS = 700

/**
 * One generation as this process knows it, and until when it may act on it. All times are this
 * process's own monotonic clock's, so no two clocks are ever compared.
 */
export class CurrentGeneration {
  readonly generation: number
  readonly token: Buffer | null
  readonly base: number
  /** Moment after SQL had first said that this is the newest generation. */
  readonly since: number
  reserved: number
  established: boolean
  until = -Infinity

  constructor({ generation, token, base, reserved, established }: Generation, since: number) {
    this.generation = generation
    this.token = token
    this.base = base
    this.reserved = reserved
    this.established = established
    this.since = since
  }

  /**
   * SQL, asked at `askedAt`, has said that this is the newest generation still, with at least so
   * much reserved.
   */
  renew(askedAt: number, reserved = this.reserved): void {
    this.until = Math.max(this.until, askedAt + CURRENT_MS)
    this.reserved = Math.max(this.reserved, reserved)
  }

  /** SQL has said that it is over. */
  end(): void {
    this.until = -Infinity
  }
}
