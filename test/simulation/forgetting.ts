import type { Run } from './run.js'
import { countOf, FORGOTTEN, setSafeClock, sumsOfAll, writersOf } from './schema.js'
import type { Site } from './site.js'

const DAY_MS = 24 * 3600_000

/** Time in which a collector looks twice for what is old. */
const LOOKS_MS = 150_000

/** Writers unseen for 30 days are forgotten, and the totals are as before. */
export async function checkForgetting(run: Run, site: Site): Promise<void> {
  const { world } = run
  for (const { process } of run.actors) process.kill('is killed before the month ends')
  const { look } = site.database
  const before = sumsOfAll(look)
  // What came while the database's clock was ahead is as much younger.
  await world.pass(31 * DAY_MS + Math.max(0, run.scenario.databaseStepMs))
  const collector = run.start(site, false, 'scheduled')
  collector.process.skew = 0
  const writers = (): string[] =>
    writersOf(look).flatMap(({ writer }) => (writer === FORGOTTEN ? [] : [writer]))
  const known = writers().length
  await world.pass(LOOKS_MS)
  world.check(
    writers().length === known,
    () =>
      `${known - writers().length} writers are forgotten though no collector has run for a month`,
  )
  // As after a month in which one has run.
  setSafeClock(look, site.database.clock.now)
  await world.pass(LOOKS_MS)
  const after = sumsOfAll(look)
  // What was missing cannot come any more.
  const wanted = { ...before, lost: before.issued - before.committed - before.quarantined }
  world.check(
    JSON.stringify(after) === JSON.stringify(wanted),
    () =>
      `when writers are forgotten the totals become ${JSON.stringify(after)} instead of ` +
      `${JSON.stringify(wanted)}`,
  )
  const left = writers().length
  world.check(left === 0, () => `${left} writers are not forgotten after 31 days`)
  for (const table of ['wide_cache_ranges', 'wide_cache_quarantine'] as const) {
    world.check(countOf(look, table) === 0, () => `${table} keeps rows after 31 days`)
  }
}
