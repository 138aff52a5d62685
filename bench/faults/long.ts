/** The long runs of the part `faults`, and what is known of losses by them and by the others. */
import type { Bench, Metric } from '../harness/part.js'
import { number, type Table } from '../harness/table.js'
import { bound, FOR_LONG, LOST, MIXED, ofLiving, RECORDED } from './bound.js'
import { FAULTS, NOTHING } from './faults.js'
import type { Outcome } from './site.js'
import { soak, type Soaking } from './soak.js'

export function recordLiving(
  { samples }: Bench,
  contender: string,
  fault: string,
  processes: readonly Outcome[],
): void {
  const { recorded, lost } = ofLiving(processes)
  samples.add(contender, fault, RECORDED, recorded)
  samples.add(contender, fault, LOST, lost)
}

/** wide-cache alone: each fault again and again, and all of them mixed. */
export async function forLong(bench: Bench, options: Soaking['options']): Promise<void> {
  const visits = bench.setting('visits of each fault, for long', {
    quick: 0,
    normal: 0,
    full: 3_000_000,
  })
  if (visits === 0) return
  const rate = bench.setting('visits/s, for long', { quick: 0, normal: 0, full: 16_000 })
  const seed = bench.setting('seed of the faults, for long', { quick: 0, normal: 0, full: 1 })
  const runs = [
    ...FAULTS.map((fault) => ({ name: fault.name, faults: [fault] })),
    { name: MIXED, faults: FAULTS.filter((fault) => fault !== NOTHING) },
  ]
  for (const [at, { name, faults }] of runs.entries()) {
    const soaking = { id: String(at), faults, seed: seed + at, visits, rate, options }
    const { faults: count, processes } = await soak(bench, soaking)
    recordLiving(bench, FOR_LONG, name, processes)
    const living = ofLiving(processes)
    const duplicated = processes.reduce((sum, one) => sum + one.duplicated, 0)
    bench.claim(
      `${name}, ${number(count)} times: of writers that lived wide-cache lost ` +
        `${number(living.lost)} of ${number(living.recorded)} visits and duplicated ` +
        `${number(duplicated)}; it loses ${bound(living)} (95 %)`,
      living.recorded > 0 && living.lost === 0 && duplicated === 0,
    )
  }
}

/** A row for each fault, and for each long run. */
export function bounds({ samples }: Bench): Table {
  const seen = samples
    .measures()
    .filter(({ metric }) => metric === RECORDED.metric)
    .map(({ contender, setting }) => {
      const sum = (metric: Metric): number =>
        samples.of(contender, setting, metric).reduce((a, b) => a + b, 0)
      return { contender, setting, recorded: sum(RECORDED), lost: sum(LOST) }
    })
  return {
    title: 'Visits of writers that lived, and what their losses are below with 95 % confidence',
    rows: seen.map(({ contender, setting, recorded, lost }) => ({
      fault: contender === FOR_LONG ? `${setting}, for long` : setting,
      visits: number(recorded),
      lost: number(lost),
      bound: bound({ recorded, lost }),
    })),
  }
}
