/**
 * A race: a class of ours beside plain SQL, the same callers for the same time, each waiting
 * for its own answer.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Metric } from '../harness/part.js'

export interface Contender {
  readonly name: string
  /** Numbers of callers, if not all are raced. */
  readonly callers?: readonly number[]
  /**
   * Lets so many callers work for about `ms` milliseconds. @throws Error if what it has counted is
   * wrong
   */
  run(callers: number, ms: number): Promise<Done>
}

/** Work that callers have done. */
export interface Done {
  /** A second. */
  readonly rate: number
  /** Milliseconds that each call took its caller. */
  readonly latencies: readonly number[]
}

export interface Race {
  /** The class. */
  readonly name: string
  readonly metric: Metric
  /** The first is plain SQL, the second the one that the picture shows. */
  readonly contenders: readonly Contender[]
  /** Looks once more at all that was counted, after the last round. */
  check?(): Promise<void>
}

/** Lets each caller call again and again for so long. */
export async function callAgainAndAgain(
  callers: number,
  ms: number,
  call: (caller: number) => Promise<unknown>,
): Promise<Done & { readonly calls: number }> {
  const began = performance.now()
  const latencies: number[] = []
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let now = performance.now(); now - began < ms;) {
        await call(caller)
        const after = performance.now()
        latencies.push(after - now)
        now = after
      }
    }),
  )
  const calls = latencies.length
  return { calls, latencies, rate: (calls / (performance.now() - began)) * 1000 }
}

/** One that adds 1 a call, and whose total is looked at before and after. `ready`: before both. */
export function adding(
  name: string,
  add: (caller: number) => Promise<unknown>,
  total: () => Promise<number>,
  ready?: (callers: number) => Promise<unknown>,
): Contender {
  return {
    name,
    async run(callers, ms) {
      await ready?.(callers)
      const before = await total()
      const done = await callAgainAndAgain(callers, ms, add)
      const added = (await total()) - before
      if (added !== done.calls) throw new Error(`${name}: ${done.calls} calls have added ${added}`)
      return done
    },
  }
}

/** One that gives each call the next number: none twice, none left out. */
export function numbering(name: string, next: () => Promise<number>): Contender {
  return {
    name,
    async run(callers, ms) {
      const before = await next()
      const numbers = new Set<number>()
      const done = await callAgainAndAgain(callers, ms, async () => numbers.add(await next()))
      const { calls } = done
      const after = await next()
      if (numbers.size !== calls || after - before !== calls + 1) {
        throw new Error(
          `${name}: ${calls} calls got ${numbers.size} numbers, from ${before} to ${after}`,
        )
      }
      return done
    },
  }
}

/** Connections of each contender, unless it says otherwise. */
export const CONNECTIONS = 20

const IDLE_MS = 10

/**
 * Lets callers queue work again and again for so long, while it is processed, and after it until
 * nothing is left. `done`: how much of it has been done; that over the whole time is the rate.
 */
export async function queueing(
  callers: number,
  ms: number,
  call: () => Promise<unknown>,
  process: () => Promise<number>,
  done: () => number,
): Promise<Done> {
  const began = performance.now()
  let working = true
  const work = callAgainAndAgain(callers, ms, call).finally(() => {
    working = false
  })
  const besides = async (): Promise<void> => {
    while (working) if ((await process()) === 0) await delay(IDLE_MS)
    while ((await process()) > 0);
  }
  const [{ latencies }] = await Promise.all([work, besides()])
  return { latencies, rate: (done() / (performance.now() - began)) * 1000 }
}

/** The number of callers that the factors are for. */
export const CALLERS = 64

/** A race as it is run here. */
export interface Lap {
  readonly race: Race
  readonly callers: readonly number[]
  readonly ms: number
  /** With as many callers as the factors are for. */
  readonly claimMs?: number
}

export function of(callers: number): string {
  return callers === 1 ? '1 caller' : `${callers} callers`
}
