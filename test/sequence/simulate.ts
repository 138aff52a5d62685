/**
 * A sequence's promises, simulated from a seed: several processes, whose clocks differ, on two
 * cache addresses and one database, all of them faulty. All processes live in one world, so that
 * what "after an answer" means is exact: a number must be greater than all that were answered
 * before its call.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SequenceIn } from '../../src/sequence/sequence.js'
import { SILENT } from '../../src/support/logger.js'
import { Random } from '../simulated-world/random.js'
import { World } from '../simulated-world/world.js'
import { type CacheFaults, SimulatedCache } from '../simulated-world/simulated-cache.js'
import { SimulatedCacheServer } from '../simulated-world/simulated-cache-server.js'
import { type ConnectionFaults, SimulatedDatabase } from '../simulated-world/simulated-database.js'
import {
  type ServerFaults,
  SimulatedDatabaseServer,
} from '../simulated-world/simulated-database-server.js'
import { SimulatedProcess } from '../simulated-world/simulated-process.js'
import { SimulatedTransaction } from '../simulated-world/simulated-transaction.js'

/** The modules under test, of `src` or of a folder like it with a bug planted. */
export type Loaded = typeof import('../../src/cache/cache.js') &
  typeof import('../../src/database/database.js') &
  typeof import('../../src/sequence/current-generation.js') &
  typeof import('../../src/sequence/cache-counters.js') &
  typeof import('../../src/sequence/generation-record.js') &
  typeof import('../../src/sequence/newest-generation.js') &
  typeof import('../../src/sequence/sequence.js') &
  typeof import('../../src/sequence/cache-return.js')

const MODULES = [
  'cache/cache.js',
  'database/database.js',
  'sequence/current-generation.js',
  'sequence/cache-counters.js',
  'sequence/generation-record.js',
  'sequence/newest-generation.js',
  'sequence/sequence.js',
  'sequence/cache-return.js',
]

export async function load(source: string): Promise<Loaded> {
  const modules = MODULES.map((file) => import(pathToFileURL(join(source, file)).href))
  return Object.assign({}, ...(await Promise.all(modules))) as Loaded
}

/** Faults of a run. */
export interface Scenario {
  readonly processes: number
  readonly block: number
  readonly cache: CacheFaults
  readonly connection: ConnectionFaults
  readonly database: ServerFaults
  /** Milliseconds between two faults on average: of those below. */
  readonly faultEveryMs: number
  readonly faults: readonly Fault[]
  /** A process that knows no cache. */
  readonly cacheless: boolean
  /** The cache goes back to earlier states, and says that it may. */
  readonly goesBack: boolean
}

type Fault = 'flush' | 'evict' | 'swap' | 'silence' | 'database' | 'kill' | 'still' | 'go back'
const FAULTS: readonly Fault[] = [
  'flush',
  'evict',
  'swap',
  'swap',
  'silence',
  'database',
  'kill',
  'still',
]

export interface Outcome {
  readonly hash: number
  readonly numbers: number
}

/** Longest time by which a cache server goes back. */
const GOES_BACK_MS = 5_000
const FAULTY_MS = 25_000
/** More than the return to the cache takes. */
const HEALED_MS = 24_000
const CALLERS = 3
const ADDRESSES = 2

/**
 * Four sorts of run: losses alone; time-outs alone; processes that see other cache servers than
 * others do, beside a slow database; and all that can go wrong, now and then with a process that
 * knows no cache, or with a cache that goes back.
 */
function scenarioOf(random: Random): Scenario {
  const common = {
    processes: random.between(1, 4),
    block: random.pick([1, 2, 10, 100]),
    faultEveryMs: random.between(500, 8_000),
    cache: cacheFaults(0, 0, true),
    connection: { requestLost: 0, replyLost: 0, delayed: 0 },
    database: { statementFails: 0, orphaned: 0, commitUnknown: 0, packetBytes: Infinity },
    cacheless: false,
    goesBack: false,
  }
  const draw = random.between(0, 5)
  if (draw === 0) return { ...common, faults: ['flush', 'evict'] }
  if (draw === 1) return { ...common, cache: cacheFaults(0.01, 0.02, true), faults: [] }
  if (draw === 2) {
    return {
      ...common,
      block: 100,
      processes: random.between(2, 4),
      faultEveryMs: 4_000,
      connection: { ...common.connection, delayed: 0.2 },
      faults: ['swap'],
    }
  }
  const goesBack = random.fork().chance(0.2)
  const lost = random.pick([0, 0.01])
  return {
    ...common,
    cache: cacheFaults(
      random.pick([0, 0.01, 0.05]),
      random.pick([0, 0.02, 0.1]),
      random.chance(0.5),
    ),
    connection: { requestLost: lost, replyLost: lost, delayed: random.pick([0, 0.05, 0.3]) },
    database: {
      ...common.database,
      statementFails: random.pick([0, 0.01]),
      commitUnknown: random.pick([0, 0.05]),
    },
    cacheless: random.chance(0.2),
    goesBack,
    faults: goesBack ? [...FAULTS, 'go back', 'go back', 'go back'] : FAULTS,
  }
}

/** A request, or an answer, of the cache is lost, or a request is delayed. */
function cacheFaults(lost: number, delayed: number, refusesAtOnce: boolean): CacheFaults {
  return { requestLost: lost, replyLost: lost, delayed, duplicated: 0, refusesAtOnce }
}

interface Running {
  readonly process: SimulatedProcess
  readonly cache: SimulatedCache
  readonly sequence: SequenceIn
}

/** @throws BrokenPromise */
export async function simulate(loaded: Loaded, seed: number, verbose = false): Promise<Outcome> {
  const world = new World(seed, new Random(seed), verbose)
  const { random } = world
  const scenario = scenarioOf(random)
  const sql = new SimulatedDatabaseServer(world, 'sequence', scenario.database)
  const servers = Array.from(
    { length: 2 * ADDRESSES },
    (_, i) => new SimulatedCacheServer(`cache${i}`, world),
  )
  const running: Running[] = []
  const seen = new Set<number>()
  let greatest = 0
  let started = 0
  let healed = false

  const call = async ({ process, sequence }: Running): Promise<void> => {
    const before = greatest
    const called = world.now
    try {
      const number = await sequence.next()
      if (!process.alive) return
      world.note(`${number}`)
      world.check(!seen.has(number), () => `${number} is handed out twice`)
      world.check(
        number > before,
        () => `${number} is handed out to a caller who called after ${before} was answered`,
      )
      seen.add(number)
      greatest = Math.max(greatest, number)
    } catch (error) {
      world.note(`rejected: ${String(error)}`)
      world.check(
        error instanceof Error && 'code' in error && error.code === 'SEQUENCE_UNANSWERED',
        () => `rejected with ${String(error)}`,
      )
      world.check(
        !healed || called < FAULTY_MS + HEALED_MS / 2,
        () => `rejected long after the last fault: ${String(error)}`,
      )
    }
  }

  const start = (): void => {
    // The paces of two clocks are a fifth apart at most.
    const pace = 0.9 + random.next() / 5
    const process = new SimulatedProcess(world, started++, { pace })
    const cache = new SimulatedCache(
      process,
      servers.slice(0, ADDRESSES),
      scenario.cache,
      loaded,
      !scenario.goesBack,
    )
    const database = new SimulatedDatabase(process, {
      server: sql,
      begin: () => new SimulatedTransaction(process.name),
      errors: loaded,
      maxStatementBytes: Infinity,
      faults: scenario.connection,
    })
    const cacheless = scenario.cacheless && running.length === 0
    const options = {
      name: 'test',
      cache: cacheless ? 'memory:' : cache,
      database,
      block: scenario.block,
      logger: SILENT,
    }
    const sequence = new loaded.SequenceIn(options, process.environment)
    const one = { process, cache, sequence }
    running.push(one)
    for (let i = 0; i < CALLERS; i++) {
      const again = (): void => {
        if (!process.alive) return
        // Now and then a long silence, in which the current generation is to be asked for again.
        const wait = random.chance(0.05)
          ? random.between(0, 3_000)
          : random.between(0, healed ? 2_000 : 300)
        world.after(wait, () => process.deliver(() => void call(one).then(again)))
      }
      again()
    }
  }

  const inflict = (fault: Fault): void => {
    world.note(fault)
    const server = random.pick(servers)
    const victim = random.pick(running)
    if (fault === 'flush') server.clear()
    else if (fault === 'evict') {
      for (const one of servers) {
        if (one.items.size > 0) one.remove(random.pick([...one.items.keys()]))
      }
    } else if (fault === 'silence') server.downUntil = world.now + random.between(100, 9_000)
    else if (fault === 'go back') {
      const snapshot = server.snapshot()
      const pausesTtls = random.chance(0.5)
      world.after(random.between(1, GOES_BACK_MS), () => server.restore(snapshot, pausesTtls))
    } else if (fault === 'database') sql.goAway(random.between(100, 4_000))
    else if (fault === 'still') {
      victim.process.stalledUntil = world.now + random.between(100, 4_000)
    } else if (fault === 'swap') {
      // A process, or all, finds another server at an address: an empty one, or an old one with its
      // old counters.
      const address = random.between(0, ADDRESSES - 1)
      const other = servers[address + random.pick([0, ADDRESSES])]!
      for (const { cache } of random.chance(0.4) ? running : [victim]) {
        cache.servers = cache.servers.map((old, i) => (i === address ? other : old))
      }
    } else {
      victim.process.kill('is killed')
      running.splice(running.indexOf(victim), 1)
      start()
    }
  }

  for (let i = 0; i < scenario.processes; i++) start()
  const nextFault = (): void => {
    world.after(random.between(0, 2 * scenario.faultEveryMs), () => {
      if (healed || scenario.faults.length === 0) return
      inflict(random.pick(scenario.faults))
      nextFault()
    })
  }
  nextFault()
  try {
    await world.pass(FAULTY_MS)
    healed = true
    world.faulty = false
    for (const server of servers) server.downUntil = 0
    for (const { cache } of running) cache.servers = running[0]!.cache.servers
    await world.pass(HEALED_MS)
    const { generation, token } = sql.look('SELECT generation, token FROM sequence_generations')[0]!
    if (scenario.faults.length === 0) {
      world.check(generation === 1, () => `time-outs have opened generation ${String(generation)}`)
    }
    // Numbers were lost by nothing else than lost counters, a block each.
    if (scenario.faults.length === 2) {
      const most = (Number(generation) - 1) * scenario.block
      world.check(
        greatest - seen.size <= most,
        () =>
          `${greatest - seen.size} numbers are skipped by ${String(generation)} generations ` +
          `of ${scenario.block}`,
      )
    }
    const isUsed = token !== null
    world.check(
      scenario.cacheless || isUsed === !scenario.goesBack,
      () => `the cache is ${isUsed ? 'used though it may go back' : 'not used again'}`,
    )
    await world.pass(0)
    return { hash: world.hash, numbers: seen.size }
  } finally {
    for (const { process } of running) process.alive = false
    sql.close()
  }
}
