import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Coverage, COVERAGE_VARIABLE, testsThatCall } from './coverage.js'
import { type Judge, judge, type Verdict } from './judge.js'
import type { Mutant } from './mutants.js'
import { isSemantic } from './semantic.js'
import type { Workbench } from './workbench.js'

/**
 * Factor on the time that a judge takes without a mutant, and the time that it may take besides.
 */
const SLOWER = 4
const BESIDES_MS = 20_000
/** Enough for a judge that is not known yet. */
const FIRST_MS = 900_000
/** Tests that judge before the others: most mutants are found by any test that runs them. */
const FIRST_TESTS = 8
/** A test that needs a quiet machine may fail. */
const TRIES = 3
/** Part of a judge's tests. */
const MOST_FAILING = 0.1

/** What is known of a judge. */
interface Known {
  /** Time after which it has found a mutant, in milliseconds; 0 if it has no test. */
  readonly timeoutMs: number
  /** Set if it may choose among its tests. */
  readonly coverage?: Coverage
  /** Those that fail without a mutant. */
  readonly failing?: readonly string[]
}

/** The judges that were asked so far. */
export class Court {
  readonly #bench: Workbench
  readonly #besidesMs: number
  readonly #known = new Map<string, Promise<Known>>()
  /** Whether some tests of a judge pass without a mutant. */
  readonly #passing = new Map<string, Promise<boolean>>()
  /** Judges that are left out because they fail without a mutant. */
  readonly leftOut: string[] = []

  constructor(bench: Workbench, besidesMs = BESIDES_MS) {
    this.#bench = bench
    this.#besidesMs = besidesMs
  }

  /** The judge that finds a mutant, and its output. `undefined` for a survivor. */
  async tried(mutant: Mutant, judges: readonly Judge[]): Promise<Finding | undefined> {
    for (const one of judges) {
      // Asked before the mutant is in place, and only once a mutant has come so far.
      const known = await this.known(one)
      if (known.timeoutMs === 0) continue
      const names = namesFor(mutant, known)
      if (names?.length === 0) continue
      const found =
        (names && (await this.#chosen(mutant, one, names, known.timeoutMs))) ??
        (await this.#judged(mutant, withoutFailing(one, known), known.timeoutMs))
      if (found.found) return { by: one.name, says: found.says, timedOut: found.timedOut }
    }
    return undefined
  }

  /**
   * The verdict of some tests, the quickest first. `undefined` if these fail without the mutant:
   * they need others.
   */
  async #chosen(
    mutant: Mutant,
    one: Judge,
    names: readonly string[],
    timeoutMs: number,
  ): Promise<Verdict | undefined> {
    let verdict: Verdict | undefined
    for (const part of [names.slice(0, FIRST_TESTS), names.slice(FIRST_TESTS)]) {
      if (part.length === 0) continue
      const some = one.only!(part)
      verdict = await this.#judged(mutant, some, timeoutMs)
      if (!verdict.found) continue
      return (await this.#passes(some)) ? verdict : undefined
    }
    return verdict
  }

  async #passes(one: Judge): Promise<boolean> {
    const passes =
      this.#passing.get(one.args.join(' ')) ??
      this.#measured(one).then(
        () => true,
        () => false,
      )
    this.#passing.set(one.args.join(' '), passes)
    return passes
  }

  #judged(mutant: Mutant, one: Judge, timeoutMs: number): Promise<Verdict> {
    return this.#bench.with(mutant, () => judge(one, this.#bench, timeoutMs))
  }

  /** A judge that fails on the sources as they are is left out: its verdicts mean nothing. */
  known(one: Judge): Promise<Known> {
    const key = one.args.join(' ')
    const measured = (): Promise<Known> => (one.only ? this.#covered(one) : this.#measured(one))
    const known =
      this.#known.get(key) ??
      measured().catch((error: unknown) => {
        this.leftOut.push(String(error))
        return { timeoutMs: 0 }
      })
    this.#known.set(key, known)
    return known
  }

  async #measured(one: Judge): Promise<Known> {
    let says = ''
    for (let i = 0; i < TRIES; i++) {
      const verdict = await judge(one, this.#bench, FIRST_MS)
      this.#bench.clear()
      const timeoutMs = SLOWER * verdict.ms + this.#besidesMs
      if (!verdict.found) return { timeoutMs }
      ;({ says } = verdict)
    }
    throw new Error(`The ${one.name} fail without a mutant: ${says}`)
  }

  /** Tests that fail without a mutant, on a busy machine, do not judge. */
  async #covered(one: Judge): Promise<Known> {
    const file = join(this.#bench.folder, 'coverage.json')
    const environment = { [COVERAGE_VARIABLE]: file }
    const { says, ms, timedOut } = await judge(one, this.#bench, FIRST_MS, environment)
    this.#bench.clear()
    if (says === '0 passed' && one.mayBeEmpty) return { timeoutMs: 0 }
    if (timedOut || says === '0 passed') throw new Error(`The ${one.name} judge nothing: ${says}`)
    const coverage = JSON.parse(readFileSync(file, 'utf8')) as Coverage
    const failing = JSON.parse(readFileSync(`${file}.failed`, 'utf8')) as string[]
    if (failing.length > Object.keys(coverage.byTest).length * MOST_FAILING) {
      throw new Error(`The ${one.name} fail without a mutant: ${failing.join('; ')}`)
    }
    const known = { timeoutMs: SLOWER * ms + this.#besidesMs, coverage, failing }
    if (failing.length > 0) {
      // A suite prepares itself even if none of its tests run, and may fail then.
      await this.#measured(withoutFailing(one, known))
      console.log(`${one.name}, without what fails: ${failing.join('; ')}`)
    }
    return known
  }
}

/** Names of the tests that are to judge. `undefined`: all but those that fail. */
function namesFor({ file, at }: Mutant, { coverage, failing }: Known): string[] | undefined {
  if (!coverage || !failing) return undefined
  const callers = testsThatCall(coverage, `src/${file}`, at)
  return callers?.filter((name) => !failing.includes(name))
}

function withoutFailing(one: Judge, { coverage, failing = [] }: Known): Judge {
  if (!coverage || failing.length === 0) return one
  return one.only!(Object.keys(coverage.byTest).filter((name) => !failing.includes(name)))
}

/** The judge that has found a mutant, and its output. */
export interface Finding {
  readonly by: string
  readonly says: string
  /**
   * The judge did not end in time. On a machine that has become much busier than at the start this
   * may be no finding.
   */
  readonly timedOut: boolean
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
export function halfSemantic<T extends { readonly mutator: string }>(
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
