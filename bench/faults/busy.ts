/** What faults of a moment cost at the rate of which the README speaks. */
import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../../test/simulated-world/random.js'
import type { Bench } from '../harness/part.js'
import { sum } from '../harness/statistics.js'
import { endCells, startCells, startSql } from './cells.js'
import { CONTENDERS } from './contenders.js'
import type { Run } from './costs.js'
import { type Cost, costsOf, fatesOf, type Moment, SETTLE_MS } from './fates.js'
import type { Fault } from './faults.js'
import { LOST, TWICE } from './measures.js'

/**
 * Those that lose single visits, or a frame of them: as time of traffic that is less, the more
 * there are. What others lose is as long at any rate.
 */
const PEERS = ['wide-cache', 'redis-list', 'insert-per-visit']
/** Visits a second of each writer. */
export const BUSY_RATE = 1_000

/** The name of a fault at that rate. */
export const atBusyRate = (fault: string): string => `${fault}, ${BUSY_RATE} visits/s`

interface Plan extends Pick<Run, 'waitSeconds' | 'options'> {
  readonly faults: readonly Fault[]
  /** Of each. */
  readonly turns: number
  readonly seed: number
}

/** A fault comes at any moment of so many ms: longer than a layer. */
const JITTER_MS = 3_100

/** Brings one site all faults, one after the other, those of a web process last. */
export async function busy(bench: Bench, plan: Plan): Promise<void> {
  const random = new Random(plan.seed)
  const contenders = CONTENDERS.filter(({ peer }) => PEERS.includes(peer)).map((contender) => ({
    ...contender,
    rate: BUSY_RATE,
  }))
  const sql = await startSql(bench, contenders)
  const [cell] = await startCells(bench, sql, {
    count: 1,
    contenders,
    webProcesses: 1,
    options: plan.options,
    since: () => Date.now(),
  })
  const events: (Moment & { readonly fault: string })[] = []
  for (const { name, run } of plan.faults) {
    for (let turn = 1; turn <= plan.turns; turn++) {
      bench.progress(`${atBusyRate(name)}, ${turn} of ${plan.turns}`)
      // Whatever the one before has cost is over by then.
      await delay(SETTLE_MS + 1_000 + random.next() * JITTER_MS)
      const began = Date.now()
      await run(cell!)
      events.push({ fault: name, began, ended: Date.now() })
    }
  }
  bench.progress('waiting for what is still on its way')
  await endCells([cell!], delay(plan.waitSeconds * 1000))
  for (const contender of contenders) {
    const writers = cell!.writers.filter((writer) => writer.contender === contender)
    const costs: Cost[][] = []
    for (const writer of writers) {
      costs.push(costsOf(await fatesOf(sql.pool, writer), events, 1000 / BUSY_RATE))
    }
    for (const [at, { fault }] of events.entries()) {
      const own = costs.map((ofWriter) => ofWriter[at]!)
      const setting = atBusyRate(fault)
      bench.samples.add(contender.label, setting, LOST, sum(own.map(({ lostMs }) => lostMs)))
      bench.samples.add(contender.label, setting, TWICE, sum(own.map(({ twiceMs }) => twiceMs)))
    }
  }
}
