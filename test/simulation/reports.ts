import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import type { Actor } from './actor.js'
import { processOf } from '../simulated-world/simulated-process.js'
import { type FrameTruth, rowsIn, UNFRAMED } from './records.js'
import type { Run } from './run.js'
import { NO_SUMS, type Sums, writersOf } from './schema.js'
import type { Site } from './site.js'

/** Counts a process's rows by what has become of them. */
export function truthOf({ process }: Actor) {
  const {
    rows,
    frames,
    site: { truth },
  } = process
  const framed = new Set(frames.flatMap((frame) => frame.rows))
  return {
    framed: framed.size,
    unframed: rows.filter((row) => !framed.has(row)),
    committed: rows.filter((row) => truth.fateOf(row) === 'committed').length,
    quarantined: rows.filter((row) => truth.fateOf(row) === 'quarantined').length,
    unsettled: frames.filter((frame) => !truth.settled(frame)),
  }
}

/** Sums of a database's ledger over the writer ids of one process. */
export function sumsByProcess({ database }: Site): Map<number, Sums> {
  const byProcess = new Map<number, Sums>()
  for (const { writer, sums } of writersOf(database.look)) {
    const index = processOf(writer)
    const sum = byProcess.get(index) ?? { ...NO_SUMS }
    for (const name of Object.keys(sum) as (keyof Sums)[]) sum[name] += sums[name]
    byProcess.set(index, sum)
  }
  return byProcess
}

/**
 * A process that lives, or has closed with nothing left, has everything in SQL; of others, what the
 * ledger has seen adds up.
 */
export function checkProcess({ world, scenario }: Run, actor: Actor, sums: Sums): void {
  const { framed, unframed, committed, quarantined, unsettled } = truthOf(actor)
  const { frames } = actor.process
  const truth = () => ({
    framed,
    unframed: unframed.length,
    committed,
    quarantined,
    unsettled: unsettled.map(({ key }) => key),
  })
  const say = (what: string) => () =>
    `${actor.name}: ${what}; ledger ${JSON.stringify(sums)}, truth ${JSON.stringify(truth())}`
  world.check(
    sums.committed === committed && sums.quarantined === quarantined,
    say('the ledger is not what the tables say'),
  )
  const missing = sums.issued - sums.committed - sums.quarantined
  world.check(sums.lost >= 0 && sums.lost <= missing, say('more is lost than missing'))
  if (actor.inOrder) {
    const forgotten = unsettled.filter((frame) => frame.letGoAt === undefined)
    world.check(
      forgotten.length === 0,
      say(`frames ${forgotten.map(({ key }) => key).join(', ')} have not come to SQL`),
    )
    world.check(sums.issued === framed, say('the ledger has not all that was issued'))
    world.check(
      sums.dropped === unframed.length || (actor.closedInTrouble && sums.dropped < unframed.length),
      say('the ledger has not all that was dropped'),
    )
    world.check(missing === rowsIn(unsettled), say('what is missing is not what was let go'))
    const needed = (ailment: string) =>
      actor.closed !== undefined || (UNFRAMED as readonly string[]).includes(ailment)
    if (!scenario.bigRows) {
      world.check(
        unframed.every((row) => needed(row.ailment)),
        say('rows are dropped without need'),
      )
    }
  } else {
    if (actor.closed) {
      world.check(
        rowsIn(unsettled.filter((frame) => frame.letGoAt === undefined)) <=
          actor.closed.inCache + actor.closed.lost,
        say(`more is missing than close() has said: ${JSON.stringify(actor.closed)}`),
      )
    }
    // Up to its last frame seen: all frames before that are counted, whether they have come or not.
    const seen: FrameTruth[] = []
    for (const frame of frames) if (rowsIn(seen) < sums.issued) seen.push(frame)
    world.check(
      rowsIn(seen) === sums.issued,
      say("what the ledger takes for issued is no frame's end"),
    )
    world.check(
      missing === rowsIn(seen.filter((frame) => unsettled.includes(frame))),
      say('what is missing is not what the ledger says'),
    )
  }
}

/** Checks the report of a living writer's own process. */
export function checkOwnReport(run: Run, actor: Actor, report: LedgerReport): void {
  const { site } = actor.process
  checkSum(run, report)
  run.world.check(
    report.committed === site.truth.committedRows &&
      report.duplicate === site.truth.duplicates.rows,
    () =>
      `${actor.name} reports ${JSON.stringify(report)}, but ${site.truth.committedRows} rows ` +
      `are committed and ${site.truth.duplicates.rows} have come again`,
  )
  // It is exact if all others live, too, or have closed in order, and have not let go of frames
  // which no later one tells of.
  const writers = run.actors.filter(
    (other) => other.writes && other.process.site === site && other.process.rows.length > 0,
  )
  if (
    run.scenario.otherSite === 'clone' ||
    !writers.every(
      (other) =>
        other.inOrder &&
        !other.closedInTrouble &&
        (other === actor || truthOf(other).unsettled.length === 0),
    )
  ) {
    return
  }
  const wanted = { issued: 0, committed: 0, quarantined: 0, dropped: 0, missing: 0 }
  for (const other of writers) {
    const { framed, unframed, committed, quarantined, unsettled } = truthOf(other)
    wanted.issued += framed + unframed.length
    wanted.committed += committed
    wanted.quarantined += quarantined
    wanted.dropped += unframed.length
    wanted.missing += rowsIn(unsettled)
  }
  const { issued, committed, quarantined, dropped } = report
  const missing = report.outstanding + report.owed + report.lost
  const got = { issued, committed, quarantined, dropped, missing }
  run.world.check(
    JSON.stringify(got) === JSON.stringify(wanted),
    () => `${actor.name} reports ${JSON.stringify(report)} where ${JSON.stringify(wanted)} is true`,
  )
}

export function checkSum(run: Run, report: LedgerReport): void {
  const { issued, committed, quarantined, dropped, outstanding, owed, lost } = report
  run.world.check(
    issued === committed + quarantined + dropped + outstanding + owed + lost &&
      Math.min(outstanding, owed, lost) >= 0,
    () => `the report does not add up: ${JSON.stringify(report)}`,
  )
}
