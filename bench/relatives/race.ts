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

/**
 * Lets each caller call again and again for so long; how often they did, how long each call took,
 * and how long it took until all were answered.
 */
export async function callAgainAndAgain(
  callers: number,
  ms: number,
  call: (caller: number) => Promise<unknown>,
): Promise<{ calls: number; latencies: number[]; seconds: number }> {
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
  const seconds = (performance.now() - began) / 1000
  return { calls: latencies.length, latencies, seconds }
}

/** One that adds 1 a call, and whose total is looked at before and after. */
export function adding(
  name: string,
  {
    add,
    total,
    ready,
  }: {
    add(caller: number): Promise<unknown>
    total(): Promise<number>
    /** Before the clock starts. */
    ready?: (callers: number) => Promise<unknown>
  },
): Contender {
  return {
    name,
    async run(callers, ms) {
      await ready?.(callers)
      const before = await total()
      const { calls, latencies, seconds } = await callAgainAndAgain(callers, ms, add)
      const added = (await total()) - before
      if (added !== calls) throw new Error(`${name}: ${calls} calls have added ${added}`)
      return { rate: calls / seconds, latencies }
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
      const { calls, latencies, seconds } = await callAgainAndAgain(callers, ms, async () =>
        numbers.add(await next()),
      )
      const after = await next()
      if (numbers.size !== calls || after - before !== calls + 1) {
        throw new Error(
          `${name}: ${calls} calls got ${numbers.size} numbers, from ${before} to ${after}`,
        )
      }
      return { rate: calls / seconds, latencies }
    },
  }
}

const IDLE_MS = 10

/** Processes what is queued while `work` goes on, and after it until nothing is left. */
export async function processing(
  process: () => Promise<number>,
  work: Promise<unknown>,
): Promise<void> {
  let working = true
  const besides = async (): Promise<void> => {
    while (working) if ((await process()) === 0) await delay(IDLE_MS)
    while ((await process()) > 0);
  }
  await Promise.all([
    work.finally(() => {
      working = false
    }),
    besides(),
  ])
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
