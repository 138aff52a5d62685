/**
 * From creation to close: what is under way is known, nothing new begins once closing has begun, and closing
 * waits for what is under way, though not for ever.
 */
import { DatabaseError } from './database.js'

/** How long `close()` waits for statements and transactions under way before it cuts them off. */
export const CLOSE_TIMEOUT_MS = 5_000

export class Lifetime {
  #underWay = 0
  #whenIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  /** Runs `work`, unless closing has begun. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw closedError()
    const running = work()
    this.track(running)
    return running
  }

  /** Has closing wait for `running` too. */
  track(running: Promise<unknown>): void {
    this.#underWay++
    const ended = (): void => {
      if (--this.#underWay === 0) this.#whenIdle?.()
    }
    running.then(ended, ended)
  }

  /** Waits for what is under way, then calls `release`, once however often it is called. */
  close(release: () => Promise<void>): Promise<void> {
    this.#closing ??= within(CLOSE_TIMEOUT_MS, this.#idle()).then(release)
    return this.#closing
  }

  /** What ends may leave something to tidy up behind it. */
  async #idle(): Promise<void> {
    while (this.#underWay > 0) await new Promise<void>((resolve) => { this.#whenIdle = resolve })
  }
}

/** The error of everything that comes after `close()`. */
export function closedError(): DatabaseError {
  return new DatabaseError('DATABASE_CLOSED', 'usage', 'The database has been closed by close()')
}

/** Resolves when `promise` has settled, and after `ms` at the latest. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([promise.catch(() => undefined), late])
  clearTimeout(timer)
}
