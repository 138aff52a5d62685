import type { Actor } from './actor.js'
import { processOf } from '../simulated-world/simulated-process.js'
import { rowsIn } from './records.js'
import type { Run } from './run.js'
import { flushMsOf } from './scenario.js'
import { gridsOf, setSafeClock, writersOf } from './schema.js'
import { truthOf } from './reports.js'
import type { Site } from './site.js'

/** Time that a drain may take: an unknown mark is looked up again and again. */
const DRAIN_MS = 15_000

/**
 * For how long a collector waits for a silent server, after any drain in which it has not asked it.
 */
const PATIENCE_MS = 75_000

/**
 * Interval at which a busy writer writes: so long that it need not let go of a big row before it
 * has brought it to SQL.
 */
const BUSY_EVERY_MS = 12_000

/** A floor has aged after so many cell TTLs and seconds. */
const AGED_TTLS = 4
const AGED_SECONDS = 480

/** Rows that were committed directly although a server would have taken them. */
const MAX_NEEDLESS = 0

/**
 * Faults have ended some time ago: the watermark has come to the present, and the ledger's tables
 * to their quiet size.
 */
export async function checkQuiet(
  { world, scenario, actors, servers }: Run,
  site: Site,
): Promise<void> {
  while (!site.database.atRest) await world.pass(1)
  const { look, clock } = site.database
  const behindMs =
    scenario.collectEveryMs +
    scenario.jitterMs +
    DRAIN_MS +
    (servers.every((server) => server.up) ? 0 : PATIENCE_MS)
  const grids = gridsOf(look)
  const shortest = Math.min(...grids.map(({ layerSeconds }) => layerSeconds))
  for (const { id, layerSeconds, watermark, completeTo } of grids) {
    // Big rows fill layers so much that they are not read early.
    const longest = scenario.bigRows ? layerSeconds : shortest
    const completeSince = (scenario.drainAfterLayers + 1) * longest * 1000 + behindMs
    world.check(
      completeTo >= clock.now - completeSince,
      () => `${id} is complete only up to ${clock.now - completeTo} ms ago`,
    )
    // If a clock that was ahead has raised it, a drain has set it right since.
    world.check(
      watermark * layerSeconds * 1000 <= clock.now,
      () => `the watermark of ${id} is ahead of the clock`,
    )
    const oldest =
      Math.floor((clock.now - behindMs) / (layerSeconds * 1000)) - scenario.drainAfterLayers - 1
    world.check(
      watermark >= oldest,
      () =>
        `the watermark of ${id} is ${oldest - watermark} layers behind though all has been ` +
        'well for long',
    )
  }
  for (const { writer, ranges } of writersOf(look)) {
    const actor = actors[processOf(writer) - 1]
    if (
      !actor ||
      actor.process.site !== site ||
      !actor.inOrder ||
      truthOf(actor).unsettled.length > 0
    ) {
      continue
    }
    world.check(
      ranges === 0,
      () =>
        `the ledger keeps ${ranges} ranges of ${actor.name} though all it has issued is settled`,
    )
  }
  world.check(
    site.truth.needlessRows <= MAX_NEEDLESS,
    () =>
      `${site.truth.needlessRows} rows were committed directly though a cache server would have ` +
      'taken them',
  )
}

/**
 * Checks that what a living writer has let go of, and was lost, is counted as lost once two floors
 * have aged, although it goes on writing.
 */
export async function checkLostIsDecided(run: Run): Promise<void> {
  const { world, scenario, sites } = run
  // Where a name was entered while the clock was a month ahead, floors age once its safe clock has
  // fallen, for 45 minutes.
  for (const { database } of sites) {
    if (database.enteredAhead) setSafeClock(database.look, database.clock.now)
  }
  const writers = run.actors.filter(
    (actor) => actor.writes && actor.goesOn && truthOf(actor).unsettled.length > 0,
  )
  if (writers.length === 0) return
  // One that has rested for a day writes on under another id, and says no more of the frames of the
  // old one.
  for (const actor of writers) run.append(actor, 1)
  await world.pass(BUSY_EVERY_MS)
  // A process that commits nothing any more holds on to frames below those that it has lost.
  const losers = writers.filter((actor) => lostOf(actor).length > 0 && !actor.process.toldLost)
  // What was recorded last may lie where no collector looks for it yet: a clock may be ahead.
  if (losers.length === 0) return world.pass((scenario.confirmSeconds + 15) * 1000)
  const before = new Map(losers.map((actor) => [actor, lostOf(actor)]))
  const agedSeconds = AGED_TTLS * scenario.cellTtlSeconds + AGED_SECONDS
  // The floor rises over them once the writer has brought to SQL, by itself, what it still held
  // before them.
  for (
    let left = 1000 * (scenario.confirmSeconds + 2 * agedSeconds + 300);
    left > 0;
    left -= BUSY_EVERY_MS
  ) {
    for (const actor of losers) run.append(actor, 1)
    await world.pass(BUSY_EVERY_MS)
  }
  for (const [actor, lost] of before) {
    const { writer } = lost[0]!.held
    const entry = writersOf(actor.process.site.database.look).find(
      (other) => other.writer === writer,
    )!
    const still = rowsIn(lost.filter((frame) => !actor.process.site.truth.settled(frame)))
    // To go on writing may have lost more.
    world.check(
      entry.sums.lost >= still && entry.sums.lost <= rowsIn(lostOf(actor)),
      () => `${actor.name} has lost ${still} rows long ago, and the ledger says ${entry.sums.lost}`,
    )
  }
}

/** Frames that will never come, of the writer id that the process has now. */
function lostOf(actor: Actor) {
  const writer = actor.process.frames.at(-1)?.held.writer
  return truthOf(actor).unsettled.filter(
    (frame) => frame.held.writer === writer && frame.letGoAt !== undefined,
  )
}

/**
 * A process whose cache no collector reads finds that out and commits directly: what it records
 * after that comes there even if it is killed a few seconds later.
 */
export async function checkApart(run: Run): Promise<void> {
  const { world, scenario, machines } = run
  // A process that has lost a transaction to a statement of `commit` commits nothing any more.
  if (scenario.commitsImplicitly) return
  const marksFit =
    scenario.itemLimit >= 2200 && scenario.serverBytes === Infinity && !scenario.differentLists
  if (
    machines.length < 2 ||
    !marksFit ||
    machines.some((servers) => servers.some((server) => !server.up))
  ) {
    return
  }
  const away = run.actors.filter(
    (actor) => actor.writes && actor.goesOn && actor.process.servers === machines[1],
  )
  if (away.length === 0) return
  for (let ms = 0; ms < 120_000; ms += 5000) {
    for (const actor of away) run.append(actor, 1)
    await world.pass(5000)
  }
  const [actor] = away
  const before = actor!.process.frames.length
  run.append(actor!, 5)
  await world.pass(5000 + flushMsOf(scenario, actor!.process.geometry))
  actor!.process.kill('is killed')
  const { truth } = actor!.process.site
  await world.pass(60_000)
  for (const frame of actor!.process.frames.slice(before)) {
    world.check(
      truth.settled(frame),
      () => `frame ${frame.key} waited in a cache that no collector reads`,
    )
  }
}
