import type { LedgerReport } from '../../src/wide-cache/report.js'
import { processOf } from './process.js'
import type { Actor, Run } from './simulate.js'
import type { FrameTruth } from './truth.js'
import { EPOCH } from './world.js'

/** Waits for a cell TTL in which no writer is seen. */
const MAX_WAITS = 20

/** Sums of the ledger over the writer ids of one process. */
interface Sums {
  issued: number
  committed: number
  quarantined: number
  dropped: number
  lost: number
}

/** What must hold once the world has been well for long enough. @throws BrokenPromise */
export async function checkAtEnd(run: Run): Promise<void> {
  const { world, actors, truth } = run
  run.checkCells()
  const alive = actors.filter((actor) => actor.writes && actor.process.alive && !actor.closing)
  for (const actor of alive) await run.report(actor, (report) => checkOwnReport(run, actor, report))
  for (const actor of alive) {
    if (world.random.chance(0.5)) continue
    run.append(actor, 3)
    void run.close(actor)
  }
  await world.pass(run.scenario.closeTimeoutMs + 1000)

  // When neither cells nor writers can hold it any more, what is missing is lost. Clocks that went ahead have left cells that
  // are drained only now, and make their writers seen again.
  const vanishedSeconds = Math.max(run.scenario.cellTtlSeconds, run.scenario.confirmSeconds + 15)
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const [seen] = run.database.look('SELECT MAX(last_seen) AS last FROM wide_cache_writers')
    const wait = Number(seen!['last']) - EPOCH + vanishedSeconds * 1000 + 1000 - world.now
    if (wait <= 0) break
    await world.pass(wait)
  }
  await run.report(run.start(false), (report) => {
    const sums = sumsByProcess(run)
    let missing = 0
    for (const actor of actors) {
      const its = sums.get(actor.process.index) ?? { issued: 0, committed: 0, quarantined: 0, dropped: 0, lost: 0 }
      checkProcess(run, actor, its)
      missing += its.issued - its.committed - its.quarantined
    }
    checkSum(run, report)
    world.check(report.committed === truth.committedRows && report.quarantined === truth.quarantinedRows, () => `the ledger's report is wrong: ${JSON.stringify(report)}`)
    world.check(report.outstanding === 0 && report.lost === missing, () => `of ${missing} missing rows the report says ${JSON.stringify(report)}`)
  })
}

function sumsByProcess(run: Run): Map<number, Sums> {
  const sums = new Map<number, Sums>()
  for (const row of run.database.look('SELECT writer, issued, committed, quarantined, dropped, lost FROM wide_cache_writers')) {
    const index = processOf((row['writer'] as Buffer).toString('hex'))
    const sum = sums.get(index) ?? { issued: 0, committed: 0, quarantined: 0, dropped: 0, lost: 0 }
    for (const name of ['issued', 'committed', 'quarantined', 'dropped', 'lost'] as const) sum[name] += Number(row[name])
    sums.set(index, sum)
  }
  return sums
}

/** What has become of a process's rows. */
function truthOf(run: Run, actor: Actor) {
  const rows = run.truth.rows.filter((row) => row.process === actor.process)
  const frames = [...run.truth.frames.values()].filter((frame) => frame.process === actor.process.index)
  const framed = new Set(frames.flatMap((frame) => frame.rows))
  return {
    frames,
    framed: framed.size,
    unframed: rows.filter((row) => !framed.has(row)),
    committed: rows.filter((row) => row.committed).length,
    quarantined: rows.filter((row) => row.quarantined).length,
    unsettled: frames.filter((frame) => !run.truth.settled(frame)),
  }
}

function rowsIn(frames: readonly FrameTruth[]): number {
  return frames.reduce((rows, frame) => rows + frame.rows.length, 0)
}

/** A process that lives, or has closed with nothing left, has everything in SQL; of others, what the ledger has seen adds up. */
function checkProcess(run: Run, actor: Actor, sums: Sums): void {
  const { world, scenario } = run
  const { frames, framed, unframed, committed, quarantined, unsettled } = truthOf(run, actor)
  const say = (what: string) => () => `${actor.process.name}: ${what}; ledger ${JSON.stringify(sums)}, truth ${JSON.stringify({ framed, unframed: unframed.length, committed, quarantined, unsettled: unsettled.map(({ key }) => key) })}`
  world.check(sums.committed === committed && sums.quarantined === quarantined, say('the ledger is not what the tables say'))
  const missing = sums.issued - sums.committed - sums.quarantined
  world.check(sums.lost >= 0 && sums.lost <= missing, say('more is lost than missing'))
  if (inOrder(actor)) {
    const forgotten = unsettled.filter((frame) => frame.letGoAt === undefined)
    world.check(forgotten.length === 0, say(`frames ${forgotten.map(({ key }) => key).join(', ')} have not come to SQL`))
    world.check(sums.issued === framed, say('the ledger has not all that was issued'))
    world.check(sums.dropped === unframed.length, say('the ledger has not all that was dropped'))
    world.check(missing === rowsIn(unsettled), say('what is missing is not what was let go'))
    if (!scenario.bigRows) world.check(unframed.every((row) => row.ailment === 'too large' || row.ailment === 'not encodable'), say('rows are dropped without need'))
  } else {
    if (actor.closed) world.check(rowsIn(unsettled.filter((frame) => frame.letGoAt === undefined)) <= actor.closed.inCache + actor.closed.lost, say(`more is missing than close() has said: ${JSON.stringify(actor.closed)}`))
    // Up to its last frame seen: all frames before that are counted, whether they have come or not.
    const seen: FrameTruth[] = []
    for (const frame of frames) if (rowsIn(seen) < sums.issued) seen.push(frame)
    world.check(rowsIn(seen) === sums.issued, say('what the ledger takes for issued is no frame\'s end'))
    world.check(missing === rowsIn(seen.filter((frame) => unsettled.includes(frame))), say('what is missing is not what the ledger says'))
  }
}

function inOrder(actor: Actor): boolean {
  return actor.process.alive ? !actor.closing : actor.closed !== undefined && actor.closed.inCache === 0 && actor.closed.lost === 0
}

/** What a living writer's own process says of all. */
function checkOwnReport(run: Run, actor: Actor, report: LedgerReport): void {
  checkSum(run, report)
  const { framed, unframed, committed, quarantined, unsettled } = truthOf(run, actor)
  const writers = run.actors.filter((other) => other.writes && other !== actor && truthOf(run, other).framed > 0)
  run.world.check(report.committed === run.truth.committedRows, () => `${actor.process.name} reports ${JSON.stringify(report)}, but ${run.truth.committedRows} rows are committed`)
  // Alone, it is exact.
  if (writers.length > 0) return
  const wanted = { issued: framed + unframed.length, committed, quarantined, dropped: unframed.length, missing: rowsIn(unsettled) }
  const { issued, dropped } = report
  const got = { issued, committed: report.committed, quarantined: report.quarantined, dropped, missing: report.outstanding + report.lost }
  run.world.check(JSON.stringify(got) === JSON.stringify(wanted), () => `${actor.process.name} reports ${JSON.stringify(report)} where ${JSON.stringify(wanted)} is true`)
}

function checkSum(run: Run, report: LedgerReport): void {
  const { issued, committed, quarantined, dropped, outstanding, lost } = report
  run.world.check(issued === committed + quarantined + dropped + outstanding + lost && Math.min(outstanding, lost) >= 0, () => `the report does not add up: ${JSON.stringify(report)}`)
}
