import { checkAtEnd } from './end.js'
import { runCronOnVirtualTime } from '../simulated-world/cron.js'
import type { Protocol } from './protocol.js'
import { observe } from './observe.js'
import { Random } from '../simulated-world/random.js'
import type { Records } from './records.js'
import { Run } from './run.js'
import { scenarioOf } from './scenario.js'
import { World } from '../simulated-world/world.js'

/** Result of a run that has broken no promise. */
export interface Outcome {
  /** Equal for equal runs. */
  readonly hash: number
  readonly events: number
  readonly rows: number
}

/** The records of each run under way, by its seed. */
const runs = new Map<number, Records>()
const watched = new WeakSet<Protocol>()

runCronOnVirtualTime()

/** Runs one seed. @throws BrokenPromise */
export async function simulate(
  protocol: Protocol,
  seed: number,
  { verbose = false } = {},
): Promise<Outcome> {
  if (!watched.has(protocol)) {
    watched.add(protocol)
    observe(protocol, runs)
  }
  const random = new Random(seed)
  const scenario = scenarioOf(random, seed)
  if (verbose) console.log(scenario)
  const run = new Run(protocol, new World(seed, random, verbose), scenario)
  runs.set(seed, run.records)
  try {
    await run.play()
    await checkAtEnd(run)
  } finally {
    runs.delete(seed)
    for (const { database } of run.sites) database.close()
    for (const { process } of run.actors) process.alive = false
  }
  return { hash: run.world.hash, events: run.world.events, rows: run.records.rows.length }
}
