import { type Judge, judge } from './judges.js'
import type { Mutant } from './mutants.js'
import type { Workbench } from './workbench.js'

/**
 * Factor on the time that a judge takes without a mutant, and the time that it may take besides.
 */
const SLOWER = 4
const BESIDES_MS = 20_000
/** Enough for a judge that is not known yet. */
const FIRST_MS = 300_000

/** Judges of one part, with the time they take. */
export interface Court {
  readonly judges: readonly { readonly judge: Judge; readonly timeoutMs: number }[]
}

/** @throws Error if a judge fails on the sources as they are: then its verdicts mean nothing */
export async function court(judges: readonly Judge[], bench: Workbench): Promise<Court> {
  const timed = []
  for (const one of judges) {
    const { found, says, ms } = await judge(one, bench.folder, FIRST_MS)
    if (found) throw new Error(`The ${one.name} fail without a mutant: ${says}`)
    timed.push({ judge: one, timeoutMs: SLOWER * ms + BESIDES_MS })
  }
  bench.clear()
  return { judges: timed }
}

/** The judge that has found a mutant, and its output. */
export interface Finding {
  readonly by: string
  readonly says: string
  /**
   * The judge did not end in time. On a machine that has become much busier than at the start this
   * may be no finding.
   */
  readonly late: boolean
}

/** `undefined` for a survivor. */
export function tried(
  mutant: Mutant,
  { judges }: Court,
  bench: Workbench,
): Promise<Finding | undefined> {
  return bench.with(mutant, async () => {
    for (const { judge: one, timeoutMs } of judges) {
      const { found, says, late } = await judge(one, bench.folder, timeoutMs)
      if (found) return { by: one.name, says, late }
    }
    return undefined
  })
}

/** `count` of `items` in their order, chosen by `random`; all if there are no more. */
export function sampleOf<T>(
  items: readonly T[],
  count: number,
  random: { between(from: number, to: number): number },
): T[] {
  const places = items.map((_, i) => i)
  for (let i = 0; i < Math.min(count, places.length); i++) {
    const other = random.between(i, places.length - 1)
    ;[places[i], places[other]] = [places[other]!, places[i]!]
  }
  return places
    .slice(0, count)
    .sort((a, b) => a - b)
    .map((place) => items[place]!)
}
