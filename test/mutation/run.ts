import { type Judge, judge } from './judge.js'
import type { Mutant } from './mutants.js'
import { isSemantic } from './semantic.js'
import type { Workbench } from './workbench.js'

/**
 * Factor on the time that a judge takes without a mutant, and the time that it may take besides.
 */
const SLOWER = 4
const BESIDES_MS = 20_000
/** Enough for a judge that is not known yet. */
const FIRST_MS = 300_000
/** A test that needs a quiet machine may fail once. */
const TRIES = 3

/** The judges that were asked so far, with the time that each may take. */
export class Court {
  readonly #bench: Workbench
  readonly #besidesMs: number
  readonly #timeouts = new Map<string, number>()

  constructor(bench: Workbench, besidesMs = BESIDES_MS) {
    this.#bench = bench
    this.#besidesMs = besidesMs
  }

  /** The judge that finds a mutant, and its output. `undefined` for a survivor. */
  async tried(mutant: Mutant, judges: readonly Judge[]): Promise<Finding | undefined> {
    for (const one of judges) {
      // Measured before the mutant is in place, and only once a mutant has come so far.
      const timeoutMs = await this.timeoutOf(one)
      if (timeoutMs === 0) continue
      const { found, says, late } = await this.#bench.with(mutant, () =>
        judge(one, this.#bench.folder, timeoutMs),
      )
      if (found) return { by: one.name, says, late }
    }
    return undefined
  }

  /**
   * Time after which a judge has found a mutant, in milliseconds; 0 if it has no test.
   *
   * @throws Error if it fails on the sources as they are: then its verdicts mean nothing
   */
  async timeoutOf(one: Judge): Promise<number> {
    const key = one.args.join(' ')
    const timeoutMs = this.#timeouts.get(key) ?? (await this.#measured(one))
    this.#timeouts.set(key, timeoutMs)
    return timeoutMs
  }

  async #measured(one: Judge): Promise<number> {
    let says = ''
    for (let i = 0; i < TRIES; i++) {
      const verdict = await judge(one, this.#bench.folder, FIRST_MS)
      this.#bench.clear()
      if (!verdict.found) return SLOWER * verdict.ms + this.#besidesMs
      ;({ says } = verdict)
      if (one.mayBeEmpty && says === '0 passed') return 0
    }
    throw new Error(`The ${one.name} fail without a mutant: ${says}`)
  }
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

interface RandomSource {
  between(from: number, to: number): number
}

/** `count` of `items` in their order, chosen by `random`; all if there are no more. */
export function sampleOf<T>(items: readonly T[], count: number, random: RandomSource): T[] {
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

/** A sample of which half is semantic, as far as there are enough of each half. */
export function halfSemantic<T extends { readonly kind: string }>(
  mutants: readonly T[],
  count: number,
  random: RandomSource,
): T[] {
  const [semantic, others] = [mutants.filter(isSemantic), mutants.filter((one) => !isSemantic(one))]
  const wanted = Math.max(Math.ceil(count / 2), count - others.length)
  const chosen = new Set(sampleOf(semantic, wanted, random))
  for (const one of sampleOf(others, count - chosen.size, random)) chosen.add(one)
  return mutants.filter((one) => chosen.has(one))
}
