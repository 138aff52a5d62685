/** Time and memory of a visit on the request path: every step by itself, and the whole. */
import { setTimeout as delay } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { measure } from 'mitata'
import { barChart, barOf, type Chart } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import { median, sum } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import * as micro from '../micro/steps.js'
import { less } from '../harness/samples.js'
import { rotated } from '../harness/order.js'

/** Runs after which timers have their turn, so that frames go their way. */
const TURN = 500
/** Runs whose bytes are looked at, for one whose time is taken: they hardly vary. */
const BYTES_SHARE = 0.1
const SUM = 'sum of the steps'
export const NS = less('ns/visit')
export const BYTES = less('bytes/visit')
const VISIT = ''

/** Time that the values of all ready-made dimensions may add to a visit. */
const MOST_DIMENSIONS_NS = 2_000

type Cost = Record<'ns' | 'bytes', number>

export async function run(bench: Bench): Promise<Chart> {
  const all = await micro.steps(bench)
  const rounds = bench.setting('rounds', 3, 5, 31)
  const runs = bench.setting('runs a round', 400, 700, 3_000)
  const warmUp = bench.setting('runs to warm up', 2_000, 2_500, 20_000)
  for (const step of all) {
    bench.progress(`warming up: ${step.name}`)
    await cost(step, warmUp)
  }
  for (let round = 0; round < rounds; round++) {
    const measured = new Map<string, Cost>()
    for (const step of rotated(all, round)) {
      bench.progress(`round ${round + 1} of ${rounds}: ${step.name}`)
      measured.set(step.name, await cost(step, runs))
    }
    const parts = all.flatMap(({ name, role }) => (role === 'step' ? measured.get(name)! : []))
    const sumOf = (what: keyof Cost): number => sum(parts.map((part) => part[what]))
    measured.set(SUM, { ns: sumOf('ns'), bytes: sumOf('bytes') })
    for (const [name, { ns, bytes }] of measured) {
      bench.samples.add(name, VISIT, NS, ns)
      bench.samples.add(name, VISIT, BYTES, bytes)
    }
  }
  claims(bench)
  const bars = all
    .filter(({ role }) => role !== 'beside')
    .map(({ name }) => barOf(name, bench.samples.spread(name, VISIT, NS)))
  return barChart('A visit on the request path', 'ns', bars)
}

/** Both are measured in each round, so what the machine does falls on both. */
function claims({ samples, claim }: Bench): void {
  const without = samples.of(micro.WITHOUT_DIMENSIONS, VISIT, NS)
  const more = median(
    samples.of(micro.WITH_DIMENSIONS, VISIT, NS).map((ns, round) => ns - without[round]!),
  )
  claim(
    `All ready-made dimensions add at most ${number(MOST_DIMENSIONS_NS)} ns to a visit ` +
      `(${number(Math.round(more))} ns)`,
    more <= MOST_DIMENSIONS_NS,
  )
}

/** Returns the cost of a round: the median run, less the cost of measuring. */
async function cost(step: micro.Step, runs: number): Promise<Cost> {
  return {
    ns: await reading(step, runs, nanoseconds),
    bytes: await reading(step, Math.ceil(runs * BYTES_SHARE), heapBytes),
  }
}

async function reading(
  { prepare, run }: micro.Step,
  runs: number,
  read: () => number,
): Promise<number> {
  const meter = new Reader(read)
  let given = 0
  const stats = await measure(
    function* () {
      yield {
        0: () => (given++ % TURN === 0 ? delay(1).then(prepare) : prepare()),
        manual(prepared: micro.Prepared) {
          meter.sum = 0
          run(prepared, meter)
          return meter.sum
        },
      }
    },
    { min_samples: runs, max_samples: runs, gc: false },
  )
  return stats.p50
}

/**
 * Adds up how far a reading has come between `on` and `off`, without what the reading itself takes.
 */
class Reader implements micro.Meter {
  sum = 0
  readonly #read: () => number
  readonly #own: number
  #at = 0

  constructor(read: () => number) {
    this.#read = read
    this.#own = median(Array.from({ length: 1_000 }, () => -read() + read()))
  }

  on(): void {
    this.#at = this.#read()
  }

  off(): void {
    this.sum += this.#read() - this.#at - this.#own
  }
}

function nanoseconds(): number {
  return performance.now() * 1e6
}

function heapBytes(): number {
  const { used_heap_size: heap, external_memory: buffers } = getHeapStatistics()
  return heap + buffers
}
