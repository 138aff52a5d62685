/**
 * wide-cache alone, fault after fault: so many of each kind, and then several kinds at a time. Each
 * site has two web processes, of which one lives through all of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'mysql2/promise'
import { Random } from '../../test/simulated-world/random.js'
import type { Bench } from '../harness/part.js'
import { sum } from '../harness/statistics.js'
import { bound, COUNTED, counted, LOSING, MIXED, REPEATED } from './bound.js'
import { type Cell, endCells, type Sql, startCells, startSql } from './cells.js'
import { WIDE_CACHE } from './contenders.js'
import type { Run } from './costs.js'
import { costsOf, fatesOf, holesIn, type Moment } from './fates.js'
import { COLLECTOR_KILLED, type Fault, FAULTS, NOTHING, OUTAGES } from './faults.js'

interface Repetition extends Run {
  /** Of each kind. */
  readonly faults: number
  /** Visits a second of each of their two web processes. */
  readonly rate: number
  readonly seed: number
}

/** What happened to a site at one time: one fault, or several. */
interface Event extends Moment {
  readonly kind: string
  readonly faults: number
}

/** Of the outages, the long ones. */
const KINDS = FAULTS.filter((fault) => fault !== NOTHING && fault.seconds !== Math.min(...OUTAGES))
const RESTARTED = 'database restarted'
const WARM_UP_MS = 10_000
/** From one restart of the database, which all sites share, to the next. */
const MOST_REST_MS = 3_000
/** Probability of a fault for each part of a site, when several fail at a time. */
const CHANCE = 0.5
/** A fault comes at any moment of so many seconds. */
const JITTER_MS = 3_000
/** Collectors come at every third second; they are killed when they have hardly begun. */
const COLLECTING_MS = 3_000
const BEGUN_MS = 100

export async function repeated(bench: Bench, repetition: Repetition): Promise<void> {
  const { faults, sites, rate, waitSeconds, seed, options } = repetition
  const random = new Random(seed)
  const sql = await startSql(bench, [WIDE_CACHE])
  const cells = await startCells(bench, sql, {
    count: sites,
    contenders: [{ ...WIDE_CACHE, rate }],
    webProcesses: 2,
    options,
    since: () => Date.now(),
  })
  await delay(WARM_UP_MS)
  const own = await Promise.all(
    cells.map((cell) => faultsOf(bench, cell, repetition, random.fork())),
  )
  const shared = await restarts(bench, sql, faults, random)
  bench.progress('waiting for what is still on its way')
  await endCells(cells, delay(waitSeconds * 1000))
  await judge(bench, cells, sql.pool, own, shared)
}

/** Brings one site all kinds, one after the other, and then mixed. */
async function faultsOf(
  bench: Bench,
  cell: Cell,
  { faults, sites, spacingSeconds }: Repetition,
  random: Random,
): Promise<Event[]> {
  const turns = Math.ceil(faults / sites)
  const events: Event[] = []
  let next = Date.now()
  for (const kind of [...KINDS.map(({ name }) => name), MIXED]) {
    for (let turn = 1; turn <= turns; turn++) {
      await delay(next - Date.now() + random.next() * JITTER_MS)
      next = Math.max(next + spacingSeconds * 1000, Date.now())
      const drawn = kind === MIXED ? some(random) : KINDS.filter(({ name }) => name === kind)
      bench.progress(`${kind}, ${turn} of ${turns} of each site`)
      const began = Date.now()
      await Promise.all(drawn.map((fault) => inTime(fault, cell, random)))
      events.push({ kind, faults: drawn.length, began, ended: Date.now() })
    }
  }
  return events
}

/** A collector that is at work is hit harder than one that rests. */
async function inTime(fault: Fault, cell: Cell, random: Random): Promise<void> {
  if (fault === COLLECTOR_KILLED) {
    await delay(COLLECTING_MS - (Date.now() % COLLECTING_MS) + random.next() * BEGUN_MS)
  }
  await fault.run(cell)
}

/** Of each part of a site one fault or none, but not none at all. */
function some(random: Random): Fault[] {
  const targets = [...new Set(KINDS.map(({ target }) => target))]
  const drawn = targets.flatMap((target) => {
    const own = KINDS.filter((fault) => fault.target === target)
    return random.chance(CHANCE) ? [random.pick(own)] : []
  })
  return drawn.length > 0 ? drawn : some(random)
}

/** SIGKILL to the database that all sites share, and its start. */
async function restarts(
  bench: Bench,
  { mariadb }: Sql,
  count: number,
  random: Random,
): Promise<Event[]> {
  const events: Event[] = []
  for (let at = 1; at <= count; at++) {
    bench.progress(`${RESTARTED}, ${at} of ${count}`)
    await delay(random.next() * MOST_REST_MS)
    const began = Date.now()
    await mariadb.kill()
    await mariadb.restart()
    events.push({ kind: RESTARTED, faults: 1, began, ended: Date.now() })
  }
  return events
}

/** A fault has lost a visit if it has lost one of a process that lived to the end. */
async function judge(
  bench: Bench,
  cells: readonly Cell[],
  pool: Pool,
  own: readonly (readonly Event[])[],
  shared: readonly Event[],
): Promise<void> {
  const losing = new Set<Event>()
  let [visits, twice, holes] = [0, 0, 0]
  for (const [site, cell] of cells.entries()) {
    const events = [...own[site]!, ...shared]
    const mixed = events.find(({ kind }) => kind === MIXED)!.began
    for (const writer of cell.writers) {
      const fates = await fatesOf(pool, writer)
      const found = costsOf(fates, events, 1)
      twice += sum(found.map(({ twiceMs }) => twiceMs))
      if (writer.killed) {
        // Without another fault beside, nothing is lost but the newest.
        if ((fates.at(-1)?.at ?? 0) < mixed) holes += holesIn(fates)
        continue
      }
      visits += fates.length
      for (const [at, { lostMs }] of found.entries()) if (lostMs > 0) losing.add(events[at]!)
    }
  }
  const all = [...own.flat(), ...shared]
  for (const kind of new Set(all.map((event) => event.kind))) {
    const events = all.filter((event) => event.kind === kind)
    const count = {
      faults: sum(events.map((event) => event.faults)),
      losing: events.filter((event) => losing.has(event)).length,
    }
    bench.samples.add(REPEATED, kind, COUNTED, count.faults)
    bench.samples.add(REPEATED, kind, LOSING, count.losing)
    bench.claim(
      `${kind}: ${counted(count)} lost a visit of a living process; ${bound(count)} of such ` +
        'faults do (95 %)',
      count.faults > 0 && count.losing === 0,
    )
  }
  bench.claim(
    `of ${visits.toLocaleString('en')} visits and those of killed processes, ${twice} came twice`,
    visits > 0 && twice === 0,
  )
  bench.claim(
    `of killed processes nothing was lost but the newest (older ones lost: ${holes})`,
    holes === 0,
  )
}
