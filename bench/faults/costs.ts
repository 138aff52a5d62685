/**
 * What each fault costs each contender. Every site has each fault once, one after the other, and
 * each site has it at another part of the contenders' periods: those of the first at their
 * beginning, those of the next a twentieth later if there are twenty.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench } from '../harness/part.js'
import { endCells, startCells, startSql } from './cells.js'
import { CONTENDERS, type Contender, WIDE_CACHE } from './contenders.js'
import { costsOf, fatesOf, type Cost, type Moment } from './fates.js'
import type { Fault } from './faults.js'
import { CAUGHT_UP, LOST, TWICE } from './measures.js'

/** What all sites of a run have. */
export interface Run {
  readonly sites: number
  /** From a fault of a site to the next one: what is recorded before is in SQL by then. */
  readonly spacingSeconds: number
  /** From the last visit until the processes are closed, which brings the rest at once. */
  readonly waitSeconds: number
  readonly options: Readonly<Record<string, unknown>>
}

interface Plan extends Run {
  readonly faults: readonly Fault[]
  /** From the start to the first fault. */
  readonly secondsBefore: number
}

/** The sites have their faults one after the other. */
const STEP_SECONDS = 3
/** The times of wide-cache and of the layers of others are those of the clock. */
const CLOCK_SECONDS = 3
const LATE_MS = 1_000
/** Of wide-cache: each frame is open for so long. */
const FRAME_SECONDS = 0.05

/** Seconds from the first site's fault to that of site `number`, which has the phase given. */
export function stepOf(number: number, sites: number): number {
  const phase = number / sites
  return number * STEP_SECONDS + phase * (CLOCK_SECONDS + FRAME_SECONDS)
}

/** The moment at which a contender begins whose period is to be at `phase` (0..1) at `fault`. */
export function beginningFor(
  { periodSeconds }: Contender,
  phase: number,
  fault: number,
  now: number,
): number {
  const period = periodSeconds * 1000
  const aligned = fault - phase * period
  return aligned - Math.floor((aligned - now) / period) * period
}

/** Keeps a sample of each cost for each site. */
export async function costs(bench: Bench, plan: Plan): Promise<void> {
  const { faults, sites, spacingSeconds } = plan
  const sql = await startSql(bench, CONTENDERS)
  const start = Date.now() + plan.secondsBefore * 1000
  // At a moment at which collectors come.
  const first = Math.ceil(start / (CLOCK_SECONDS * 1000)) * CLOCK_SECONDS * 1000
  const momentOf = (site: number, fault: number): number =>
    first + (stepOf(site, sites) + fault * spacingSeconds) * 1000
  const cells = await startCells(bench, sql, {
    count: sites,
    contenders: CONTENDERS,
    webProcesses: 1,
    options: plan.options,
    since: (contender, site) =>
      beginningFor(contender, site / sites, momentOf(site, 0), Date.now()),
  })
  const moments = await Promise.all(
    cells.map(async (cell, site) => {
      const own: Moment[] = []
      for (const [at, fault] of faults.entries()) {
        const moment = momentOf(site, at)
        await delay(moment - Date.now())
        if (at === 0 && Date.now() > moment + LATE_MS) {
          throw new Error(`site ${site} has started too late for its first fault`)
        }
        bench.progress(`${fault.name}, site ${site + 1} of ${sites}`)
        const began = Date.now()
        await fault.run(cell)
        own.push({ began, ended: Date.now() })
      }
      return own
    }),
  )
  bench.progress('waiting for what is still on its way')
  await endCells(cells, delay(plan.waitSeconds * 1000))
  for (const [site, cell] of cells.entries()) {
    // Later writers have come after a fault.
    for (const writer of cell.writers.slice(0, CONTENDERS.length)) {
      const { contender } = writer
      const own = costsOf(await fatesOf(sql.pool, writer), moments[site]!, 1000 / contender.rate)
      for (const [at, cost] of own.entries()) record(bench, contender, faults[at]!, cost)
    }
  }
}

function record(
  { samples }: Bench,
  contender: Contender,
  { name, target }: Fault,
  { lostMs, twiceMs, seconds }: Cost,
): void {
  // What a killed process loses is a matter of chance.
  const better = contender === WIDE_CACHE && target !== 'web' ? 'less' : null
  samples.add(contender.label, name, { ...LOST, better }, lostMs)
  samples.add(contender.label, name, { ...TWICE, better }, twiceMs)
  samples.add(contender.label, name, CAUGHT_UP, seconds)
}
