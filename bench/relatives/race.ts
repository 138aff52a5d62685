/**
 * A race: a class of ours beside its naive twin, the same callers for the same time, each waiting
 * for its own answer.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Metric } from '../harness/part.js'

export interface Contender {
  readonly name: string
  /** Where it is not raced with any number of callers. */
  readonly callers?: readonly number[]
  /**
   * What it got done a second, by so many callers in about `ms` milliseconds. @throws Error if what
   * it has counted is wrong
   */
  rate(callers: number, ms: number): Promise<number>
}

export interface Race {
  /** The class. */
  readonly name: string
  readonly metric: Metric
  /** The first is the naive twin, the second the one that the picture shows. */
  readonly contenders: readonly Contender[]
  /** Looks once more at all that was counted, after the last round. */
  check?(): Promise<void>
}

/**
 * Lets each caller call again and again for so long; how often they did, and how long it took until
 * all were answered.
 */
export async function callAgainAndAgain(
  callers: number,
  ms: number,
  call: (caller: number) => Promise<unknown>,
): Promise<{ calls: number; seconds: number }> {
  const began = performance.now()
  let calls = 0
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      while (performance.now() - began < ms) {
        await call(caller)
        calls++
      }
    }),
  )
  return { calls, seconds: (performance.now() - began) / 1000 }
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
    async rate(callers, ms) {
      await ready?.(callers)
      const before = await total()
      const { calls, seconds } = await callAgainAndAgain(callers, ms, add)
      const added = (await total()) - before
      if (added !== calls) throw new Error(`${name}: ${calls} calls have added ${added}`)
      return calls / seconds
    },
  }
}

/** One that gives each call the next number: none twice, none left out. */
export function numbering(name: string, next: () => Promise<number>): Contender {
  return {
    name,
    async rate(callers, ms) {
      const before = await next()
      const numbers = new Set<number>()
      const { calls, seconds } = await callAgainAndAgain(callers, ms, async () =>
        numbers.add(await next()),
      )
      const after = await next()
      if (numbers.size !== calls || after - before !== calls + 1) {
        throw new Error(
          `${name}: ${calls} calls got ${numbers.size} numbers, from ${before} to ${after}`,
        )
      }
      return calls / seconds
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
