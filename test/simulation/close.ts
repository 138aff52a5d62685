import { readCell } from '../../src/wide-cache/frame.js'
import type { CloseReport } from '../../src/wide-cache/writer/closing.js'
import { serverOf } from '../simulated-world/simulated-cache-server.js'
import type { Actor } from './actor.js'
import { type FrameTruth, keyOf, rowsIn } from './records.js'
import type { Run } from './run.js'
import { STALL_MS } from './disasters.js'
import { STAMP } from './schema.js'

/** memcached's largest item by default. */
const MAX_ITEM_BYTES = 1024 * 1024

/** An orderly end, and whether its report is true. */
export async function close(run: Run, actor: Actor): Promise<void> {
  const { world, scenario } = run
  const { process } = actor
  if (process.closing || !process.alive) return
  const began = world.now
  const { database } = process.site
  // Another process may be held up, since before the healing, in a transaction that locks SQL.
  const wasWell = !world.faulty && !database.away && !database.isLocked
  const cacheWasWell = !world.faulty && takesAll(run)
  const held = new Set(process.frames.filter((frame) => frame.isHeld))
  const before = process.frames.length
  process.closing = true
  world.note(`${actor.name} closes`)
  const closing = actor.wideCache.close()
  // close() has closed the open frame.
  for (const frame of process.frames.slice(before)) held.add(frame)
  // What comes now is dropped, and counted if SQL is still to be told. A starved process may notice
  // it too late.
  if (world.random.chance(0.3) && !process.isStarved) {
    world.after(world.random.between(0, world.random.pick([15, scenario.closeTimeoutMs])), () =>
      process.deliver(() => run.appendTo(actor, 1)),
    )
  }
  const report = await closing
  /** It had no more time. */
  const isOver = world.now - began >= 2 * scenario.closeTimeoutMs
  actor.closed = report
  // A cache server that was waited for may have taken all the time that there was.
  actor.closedInTrouble = world.faulty || world.now - began >= scenario.closeTimeoutMs
  // SQL may take frames all the time. One wait between tries may lie across the deadline.
  const limit =
    Math.max(process.stalledUntil, began + 2 * scenario.closeTimeoutMs + STALL_MS) + 1000
  world.check(world.now <= limit, () => `close() took ${world.now - began} ms`)
  if (wasWell && !process.toldLost) {
    world.check(
      process.isStarved ? report.lost === 0 || isOver : report.inCache + report.lost === 0,
      () => `${actor.name} closes with ${JSON.stringify(report)} though all is well`,
    )
  }
  if (cacheWasWell) {
    world.check(
      report.lost === 0 && [...held].every((frame) => isKept(run, frame)),
      () => `${actor.name} closes with ${JSON.stringify(report)} though the cache is well`,
    )
  }
  checkReport(run, actor, report, held, isOver)
  process.kill(`has closed ${JSON.stringify(report)}`)
}

/** Whether the cache takes each frame. */
function takesAll({ scenario, servers }: Run): boolean {
  const { bigRows, itemLimit, serverBytes, cachePerMachine, differentLists } = scenario
  return (
    servers.every((server) => server.up) &&
    // A few big frames fill all cells of a layer.
    !bigRows &&
    itemLimit >= MAX_ITEM_BYTES &&
    serverBytes === Infinity &&
    !cachePerMachine &&
    !differentLists
  )
}

/** Whether SQL has a frame or a cell holds it: it may have been placed, and evicted since then. */
function isKept({ servers }: Run, frame: FrameTruth): boolean {
  if (frame.process.site.truth.fateOf(frame.rows[0]!)) return true
  return [...frame.storedAt.keys()].some((key) => {
    const cell = serverOf(key, servers).get(key)
    return cell && readCell(cell, STAMP).frames.some((one) => keyOf(one) === frame.key)
  })
}

function checkReport(
  { world }: Run,
  actor: Actor,
  report: CloseReport,
  held: ReadonlySet<FrameTruth>,
  isOver: boolean,
): void {
  const { truth } = actor.process.site
  const wanted = { committed: 0, quarantined: 0, inCache: 0, lost: 0 }
  for (const frame of held) {
    const fate = truth.fateOf(frame.rows[0]!)
    // What the cache took before may be gone, if there was no time to place it again.
    wanted[fate ?? (frame.storedAt.size > 0 ? 'inCache' : 'lost')] += frame.rows.length
  }
  const say = () =>
    `${actor.name} closes with ${JSON.stringify(report)} where ${JSON.stringify(wanted)} is true`
  world.check(
    report.committed + report.quarantined + report.inCache + report.lost === rowsIn(held),
    say,
  )
  if (report.inCache + report.lost === 0 && !world.faulty && !isOver) {
    world.check(
      report.committed === wanted.committed && report.quarantined === wanted.quarantined,
      say,
    )
  } else {
    // SQL has not answered: it may have more than the writer knows, in quarantine too, and a cell
    // may hold what no answer said.
    world.check(report.committed + report.quarantined <= wanted.committed + wanted.quarantined, say)
    world.check(
      report.lost >= wanted.lost &&
        report.inCache <= wanted.committed + wanted.quarantined + wanted.inCache,
      say,
    )
  }
}
