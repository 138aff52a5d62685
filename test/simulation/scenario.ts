import { CONFIRM_MARGIN_SECONDS } from '../../src/wide-cache/grid-options.js'
import type { Random } from '../simulated-world/random.js'

/** Width and layer length of a grid. */
export interface Geometry {
  readonly width: number
  readonly layerSeconds: number
}

/**
 * The decisions of a seed about its run before it begins. Probabilities are of one request or
 * statement.
 */
export interface Scenario {
  /** Geometries of the processes; of two, each takes one. */
  readonly geometries: readonly Geometry[]
  /** Measures of the grid: of two, each process records one. */
  readonly measures: number
  /** Zones that the processes would have, one after the other. */
  readonly zones: readonly string[]
  readonly drainAfterLayers: number
  readonly cellTtlSeconds: number
  readonly confirmSeconds: number
  readonly flushMs: number
  readonly closeTimeoutMs: number
  /** Rows of about a third of a frame, so that the outbox fills. */
  readonly bigRows: boolean
  readonly poison: boolean
  readonly writers: number
  readonly collectors: number
  /** Milliseconds with faults. */
  readonly faultsMs: number
  readonly collectEveryMs: number
  /** Collectors that run by themselves do so by the default cron line, and keep their lease. */
  readonly onDefaultSchedule: boolean
  /** Greatest difference between the collectors' clocks when they begin. */
  readonly jitterMs: number
  /** Milliseconds for which all is quiet between two halves, 0: none. */
  readonly pauseMs: number
  /** In the pause the writers hold frames: neither cache nor SQL takes them before it ends. */
  readonly holdsThroughPause: boolean
  /**
   * Another database beside the first, with the same cache servers, or from some moment on a copy
   * of the first.
   */
  readonly otherSite: 'none' | 'stranger' | 'clone'
  /** Every second process has cache servers of its own, though the database is one. */
  readonly cachePerMachine: boolean
  readonly servers: number
  /** Requests to a server that is down fail at once. */
  readonly refusesAtOnce: boolean
  readonly itemLimit: number
  readonly serverBytes: number
  readonly refusesWhenFull: boolean
  readonly differentLists: boolean
  readonly clocksWrong: boolean
  /** Step of the database's clock, and its duration, in milliseconds; 0: none. */
  readonly databaseStepMs: number
  readonly databaseStepForMs: number
  /** The most bytes of a statement. */
  readonly packetBytes: number
  readonly requestLost: number
  readonly replyLost: number
  readonly delayed: number
  readonly duplicated: number
  readonly statementFails: number
  readonly commitUnknown: number
  /** A connection is cut in mid-transaction, and the server keeps the transaction's locks. */
  readonly orphaned: number
  /** A process's commit procedure commits by itself, once. */
  readonly commitsImplicitly: boolean
  /** At the end 30 days go by, after which old writers are forgotten. */
  readonly forgets: boolean
  /** Number of disasters (a flush, a kill, a stall, a database away, …). */
  readonly disasters: number
  /** Number of times that operations are held up, alone or with their process. */
  readonly holdUps: number
  /** Once nothing else goes wrong, the database takes no writes for so long, 0: it takes them. */
  readonly noWritesMs: number
  /** Then only the table of the caller's rows is locked, and all other statements are answered. */
  readonly locksRows: boolean
  /** Once nothing else goes wrong, a process starts that SQL answers slowly. */
  readonly joins: boolean
  /** A process of a starved machine starts without SQL, and closes when that is back. */
  readonly starves: boolean
  /** Once nothing else goes wrong, the cache loses what its cells hold, or goes back. */
  readonly losesCells: boolean
  /** Number of times that cache servers go back to an earlier state before that. */
  readonly goesBack: number
}

/**
 * Time that a frame gathers rows: in a grid of long layers as long as a process may be told to.
 */
export function flushMsOf({ flushMs, drainAfterLayers }: Scenario, { layerSeconds }: Geometry) {
  const half = ((drainAfterLayers - 1) * layerSeconds * 1000) / 2
  return layerSeconds < LONG_LAYER_SECONDS ? flushMs : Math.min(half, LONG_FLUSH_MS)
}

const ZONES = [
  'Europe/Berlin',
  'Asia/Kolkata',
  'America/Santiago',
  'Antarctica/Troll',
  'Africa/Lagos',
  'America/New_York',
  'Asia/Tokyo',
  'Pacific/Auckland',
  'America/Lima',
]
/** One of so many seeds has zones. No seed that finds a planted bug is among them. */
const ZONES_EVERY = 15
/** In it a process that only reads would decide, if it could. */
export const SEED_OF_ZONES = 192

const LONG_LAYER_SECONDS = 20
const LONG_FLUSH_MS = 5_000
const HOUR_MS = 3600_000
/** A step that the world catches up with before the run ends. */
const SHORT_STEP_MS = 30_000
const DAY_MS = 24 * HOUR_MS

/** Some seeds are calm, most have a few sorts of faults, some have them all. */
export function scenarioOf(random: Random, seed: number): Scenario {
  const layerSeconds = random.pick([1, 3, 3, 5])
  const drainAfterLayers = random.pick([2, 2, 2, 3])
  const geometries: Geometry[] = [{ width: random.pick([1, 2, 3, 5]), layerSeconds }]
  if (random.chance(0.2)) {
    geometries.push({
      width: random.pick([1, 2, 4]),
      layerSeconds: random.pick([1, 3, 20, 20, 20]),
    })
  }
  const longest = Math.max(...geometries.map((geometry) => geometry.layerSeconds))
  const drainAge = (drainAfterLayers + 1) * longest
  const leastConfirm = drainAge + 30
  const [databaseStepMs, databaseStepForMs] = random.pick([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [SHORT_STEP_MS, 5000],
    [SHORT_STEP_MS, 5000],
    [SHORT_STEP_MS, 5000],
    [2 * HOUR_MS, 15_000],
    [31 * DAY_MS, 60_000],
    [31 * DAY_MS, 180_000],
    [-60_000, 20_000],
    [-40 * DAY_MS, 20_000],
  ] as const)
  const smallPackets = random.chance(0.05)
  const bigRows = smallPackets || random.chance(databaseStepMs === 0 ? 0.08 : 0.4)
  const poison = smallPackets || random.chance(0.18)
  const often = (probability: number, rates: readonly number[]) =>
    random.chance(probability) ? random.pick(rates) : 0
  const pauseMs = random.pick([0, 0, 0, 0, 0, 0, 0, HOUR_MS, 25 * HOUR_MS])
  const otherSite = random.pick([
    'none',
    'none',
    'none',
    'none',
    'none',
    'none',
    'none',
    'none',
    'stranger',
    'clone',
  ] as const)
  // What such a step leaves behind is clear only if nothing else misleads collectors.
  const clearly = databaseStepMs === SHORT_STEP_MS
  const few = otherSite !== 'none'
  const drawn = {
    geometries,
    measures: 1 + (seed % 2),
    zones: seed % ZONES_EVERY === SEED_OF_ZONES % ZONES_EVERY ? ZONES : [],
    drainAfterLayers,
    // What is left in cells is to be there at the end.
    cellTtlSeconds: Math.max(
      drainAge + 15,
      clearly ? 400 : databaseStepMs === 31 * DAY_MS ? 200 : random.pick([15, 30, 60, 60, 200]),
    ),
    confirmSeconds: leastConfirm + random.pick([0, 0, 10, 40]),
    flushMs: random.pick([20, 50, 500]),
    closeTimeoutMs: random.pick([500, 5000, 5000]),
    bigRows,
    poison,
    writers: random.between(1, few ? 2 : 4),
    collectors: random.between(clearly ? 1 : 0, few ? 1 : 2),
    faultsMs: (databaseStepMs === 31 * DAY_MS ? 200 : random.between(40, 140)) * 1000,
    collectEveryMs: random.pick([4, 10, 10, 15]) * 1000,
    jitterMs: random.pick([0, 10, 5000]),
    pauseMs,
    holdsThroughPause: pauseMs > 0 && random.chance(0.4),
    otherSite,
    cachePerMachine: !clearly && random.chance(0.06),
    servers: random.between(1, 3),
    refusesAtOnce: random.chance(0.5),
    itemLimit: random.chance(0.3) ? (bigRows ? 700_000 : random.pick([400, 2200])) : 1024 * 1024,
    serverBytes: random.chance(0.2) ? (bigRows ? 1_500_000 : random.pick([2000, 4000])) : Infinity,
    refusesWhenFull: random.chance(0.5),
    differentLists: !clearly && random.chance(0.1),
    clocksWrong: random.chance(0.4),
    databaseStepMs,
    databaseStepForMs,
    packetBytes: smallPackets ? 64 * 1024 : Infinity,
    requestLost: often(0.3, [0.01, 0.05, 0.3]),
    replyLost: often(0.4, [0.01, 0.05, 0.3]),
    delayed: often(0.4, [0.02, 0.1]),
    duplicated: often(clearly ? 0 : 0.4, [0.02, 0.2]),
    statementFails: often(poison ? 0.7 : 0.4, [0.005, 0.02, 0.1]),
    commitUnknown: often(0.5, [0.05, 0.3]),
    orphaned: often(0.15, [0.01, 0.03]),
    // A process that has stopped committing goes on trying, which would take the simulation long in
    // a pause.
    commitsImplicitly: !clearly && pauseMs === 0 && random.chance(0.05),
    forgets: random.chance(0.04),
    disasters: random.pick([0, 1, 2, 4, 8]),
    onDefaultSchedule: random.chance(0.4),
  }
  // Of a source of their own: all else of a seed is as it was without these faults.
  const added = random.fork()
  const holdUps = added.pick([0, 1, 2, 4, 8])
  const takesNoWrites = added.chance(0.1)
  const losesCells = added.fork().chance(0.2)
  const goesBack = added.fork().pick([0, 0, 0, 1, 3])
  const locksRows = added.fork().chance(0.3)
  const joins = added.fork().chance(0.2)
  const starves = added.fork().chance(0.1) && drawn.closeTimeoutMs >= 5000
  if (!takesNoWrites) {
    return { ...drawn, holdUps, noWritesMs: 0, locksRows, joins, starves, losesCells, goesBack }
  }
  const { confirmSeconds, cellTtlSeconds } = drawn
  const noWritesSeconds = confirmSeconds + added.pick([5, 40, 90])
  return {
    ...drawn,
    holdUps,
    losesCells,
    goesBack,
    locksRows,
    joins,
    starves,
    noWritesMs: noWritesSeconds * 1000,
    // So that a writer commits what its cell holds before that ends, and a collector what was
    // locked: a lock that lasts longer than cells live is not survived.
    cellTtlSeconds: Math.max(
      cellTtlSeconds,
      (locksRows ? noWritesSeconds : confirmSeconds) + CONFIRM_MARGIN_SECONDS,
    ),
  }
}
