import { setImmediate as turn } from 'node:timers/promises'
import type { Clock, Timer } from './clock.js'

/**
 * A clock that stands still until `advance` moves it. Its monotonic time is neither 0 at first nor
 * the wall clock's: what takes one for the other is wrong by an hour or more.
 */
export class ManualClock implements Clock {
  #now: number
  #elapsed = 5_000_000
  #timers: { at: number; callback: () => void }[] = []

  constructor(now: number) {
    this.#now = now
  }

  now = (): number => this.#now
  elapsed = (): number => this.#elapsed

  after(ms: number, callback: () => void): Timer {
    const timer = { at: this.#elapsed + ms, callback }
    this.#timers.push(timer)
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer)
      },
    }
  }

  /** Moves on by `ms`, calling what falls due, and lets promises end in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await flushPromises()
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      this.#moveTo(next?.at ?? end)
      if (!next) return flushPromises()
      this.#timers = this.#timers.filter((other) => other !== next)
      next.callback()
      await flushPromises()
    }
  }

  get pending(): number {
    return this.#timers.length
  }

  #moveTo(elapsed: number): void {
    this.#now += elapsed - this.#elapsed
    this.#elapsed = elapsed
  }
}

/** Lets promises that need no real waiting end. */
export async function flushPromises(): Promise<void> {
  for (let i = 0; i < 3; i++) await turn()
}
