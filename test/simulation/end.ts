import type { Actor } from './actor.js'
import { close } from './close.js'
import { checkForgetting } from './forgetting.js'
import { checkNoneLeftOut } from './needless.js'
import { checkApart, checkLostIsDecided, checkQuiet } from './quiet.js'
import { checkOwnReport, checkProcess, checkSum, sumsByProcess } from './reports.js'
import type { Run } from './run.js'
import { gridsOf, NO_SUMS, writersOf } from './schema.js'
import type { Site } from './site.js'

/** Waits for a cell TTL in which no writer is seen. */
const MAX_WAITS = 20

/**
 * Longer waits are for clocks that were far ahead: processes that go on would take the simulation
 * long.
 */
const LONG_WAIT_MS = 600_000

/** After so long a writer asks SQL for its grid. */
const QUIET_MS = 60_000

/** Time for which SQL is away after the cache is back, and for which both are well afterwards. */
const OUTAGE_MS = 30_000
const CATCH_UP_MS = 120_000

/** Before an end without SQL: frames are placed, and the cache loses them. */
const LOSS_MS = 1_000

/** Checks what must hold once the world has been well for long enough. @throws BrokenPromise */
export async function checkAtEnd(run: Run): Promise<void> {
  const { world, actors, sites } = run
  run.checkCells()
  for (const site of sites) await checkQuiet(run, site)
  checkParted(run)
  await checkLostIsDecided(run)
  const alive = actors.filter((actor) => actor.writes && actor.goesOn)
  for (const actor of alive) await run.report(actor, (report) => checkOwnReport(run, actor, report))
  await checkApart(run)
  if (world.random.chance(0.3)) await checkCacheFirst(run, alive)
  const closing = alive.filter(() => world.random.chance(0.5))
  // After a quiet minute a process may end while SQL is away.
  const isAway = world.random.chance(0.3)
  if (isAway) {
    await world.pass(QUIET_MS)
    for (const { database } of sites) database.goAway(LOSS_MS + run.scenario.closeTimeoutMs + 500)
    for (const actor of closing) run.append(actor, 3)
    await world.pass(LOSS_MS)
    // And the cache may have lost what it holds, or be away, too.
    if (world.random.chance(0.5)) for (const server of run.servers) server.clear()
    if (world.random.chance(0.3)) {
      const until = world.now + run.scenario.closeTimeoutMs + 500
      for (const server of run.servers) server.downUntil = Math.max(server.downUntil, until)
    }
  }
  for (const actor of closing) {
    run.append(actor, 3)
    void close(run, actor)
  }
  await world.pass(run.scenario.closeTimeoutMs + 1000)
  // SQL sees the writers of what was placed meanwhile only when that is drained.
  if (isAway) await world.pass(run.scenario.cellTtlSeconds * 1000)
  for (const site of sites) await checkLedger(run, site)
  if (run.scenario.forgets) for (const site of sites) await checkForgetting(run, site)
}

/** After an outage of both, the cache is back long before SQL. */
async function checkCacheFirst(run: Run, alive: readonly Actor[]): Promise<void> {
  const { world, scenario, servers, sites } = run
  for (const { database } of sites) database.goAway(OUTAGE_MS)
  for (const server of servers) server.downUntil = Math.max(server.downUntil, world.now + LOSS_MS)
  for (const actor of alive) run.append(actor, 2)
  await world.pass(OUTAGE_MS - 1)
  for (const { process } of alive) checkNoneLeftOut(world, scenario, process)
  await world.pass(CATCH_UP_MS)
}

/** A clone and the cloned database have found out about each other. */
function checkParted({ world, scenario, sites: [one, other], servers }: Run): void {
  if (
    scenario.otherSite !== 'clone' ||
    !servers.every((server) => server.up) ||
    scenario.differentLists ||
    scenario.itemLimit < 2200 ||
    scenario.serverBytes < Infinity
  ) {
    return
  }
  world.check(!shareGrid(one!, other), () => 'a clone and the cloned database use one namespace')
}

function shareGrid(one: Site, other: Site | undefined): boolean {
  const ids = new Set(gridsOf(one.database.look).map(({ id }) => id))
  return other !== undefined && gridsOf(other.database.look).some(({ id }) => ids.has(id))
}

async function checkLedger(run: Run, site: Site): Promise<void> {
  const { world, actors } = run
  await waitUntilVanished(run, site)
  await run.report(run.start(site, false, false), (report) => {
    const sums = sumsByProcess(site)
    let missing = 0
    let lost = 0
    for (const its of sums.values()) {
      missing += its.issued - its.committed - its.quarantined
      lost += its.lost
    }
    for (const actor of actors) {
      if (actor.process.site === site) {
        checkProcess(run, actor, sums.get(actor.process.index) ?? NO_SUMS)
      }
    }
    checkSum(run, report)
    const { committedRows, quarantinedRows, duplicates } = site.truth
    world.check(
      report.committed === committedRows &&
        report.quarantined === quarantinedRows &&
        report.duplicate === duplicates.rows,
      () => `the ledger's report is wrong: ${JSON.stringify(report)}`,
    )
    // Where the marks' server stays away, frames of the other database's writers go on to come.
    const [one, other] = run.sites
    const outstanding = shareGrid(one!, other) ? report.outstanding : 0
    world.check(
      report.outstanding === outstanding &&
        report.lost === lost &&
        report.owed + lost + outstanding === missing,
      () => `of ${missing} missing rows the report says ${JSON.stringify(report)}`,
    )
  })
}

/**
 * Waits until neither cells nor writers can hold anything: what is missing then is owed or lost.
 * Clocks that went ahead have left cells that are drained only now, and make their writers seen
 * again.
 */
async function waitUntilVanished(run: Run, { database }: Site): Promise<void> {
  const { world, scenario } = run
  const vanishedMs = Math.max(scenario.cellTtlSeconds, scenario.confirmSeconds + 15) * 1000
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const seen = Math.max(...writersOf(database.look).map(({ lastSeen }) => lastSeen))
    const wait = seen + vanishedMs + 1000 - database.clock.now
    if (!(wait > 0)) break
    if (wait > LONG_WAIT_MS) {
      for (const { process } of run.actors) process.kill('is killed: nothing is left to do')
    }
    await world.pass(wait)
  }
}
