/**
 * The plan of which faults happen when, drawn from a seed before the run begins: the same seed and
 * length give the same faults. A target has one fault at a time; different targets have theirs at
 * the same time.
 */
import { Random } from '../simulated-world/random.js'

/** The part that a fault disturbs. `none`: an everyday event that excuses nothing. */
export type Disturbed = 'cache' | 'sql' | 'process' | 'none'

export interface Fault {
  readonly type: FaultType
  readonly target: string
  /** Milliseconds from the start of the run. */
  readonly at: number
  /** Milliseconds that it lasts. */
  readonly ms: number
  /** Size of the fault, in the unit of its type. */
  readonly size: number
}

/** Names of the parts that can be disturbed. */
export interface Targets {
  readonly process: readonly string[]
  readonly writer: readonly string[]
  readonly cache: readonly string[]
  readonly memcached: readonly string[]
  readonly mariadb: readonly string[]
  readonly host: readonly string[]
  readonly sqlRoute: readonly string[]
  readonly database: readonly string[]
}

interface FaultTraits {
  readonly disturbs: Disturbed
  readonly targets: keyof Targets
  readonly weight: number
  readonly seconds: readonly [from: number, to: number]
  readonly size: readonly [from: number, to: number]
}

/**
 * Every type of fault. In the unit of `size`: milliseconds of delay or of a clock's step, bytes,
 * megabytes, rows, rows a second, connections.
 */
export const TYPES = {
  'kill process': {
    disturbs: 'none',
    targets: 'process',
    weight: 3,
    seconds: [0.5, 5],
    size: [0, 0],
  },
  'end process': {
    disturbs: 'none',
    targets: 'process',
    weight: 3,
    seconds: [0.5, 5],
    size: [0, 0],
  },
  'refused row': { disturbs: 'none', targets: 'writer', weight: 3, seconds: [0, 0], size: [0, 0] },
  'rush of rows': {
    disturbs: 'none',
    targets: 'writer',
    weight: 2,
    seconds: [0, 0],
    size: [200, 2000],
  },
  // Each row is a page view of a new page, an hour of which lists 20,000 at most.
  'flood of rows': {
    disturbs: 'none',
    targets: 'writer',
    weight: 1,
    seconds: [3, 8],
    size: [2000, 8000],
  },
  'stop process': {
    disturbs: 'process',
    targets: 'process',
    weight: 5,
    seconds: [1, 20],
    size: [0, 0],
  },
  'step clock': {
    disturbs: 'process',
    targets: 'process',
    weight: 4,
    seconds: [3, 30],
    size: [-2 * 3600_000, 2 * 3600_000],
  },
  'step clock by days': {
    disturbs: 'process',
    targets: 'process',
    weight: 1,
    seconds: [3, 30],
    size: [86_400_000, 30 * 86_400_000],
  },
  'kill a cache': {
    disturbs: 'cache',
    targets: 'cache',
    weight: 3,
    seconds: [0, 25],
    size: [0, 0],
  },
  'flush a cache': {
    disturbs: 'cache',
    targets: 'cache',
    weight: 2,
    seconds: [0, 0],
    size: [0, 0],
  },
  'evict from memcached': {
    disturbs: 'cache',
    targets: 'memcached',
    weight: 1,
    seconds: [0, 0],
    size: [16, 96],
  },
  'stop a cache': {
    disturbs: 'cache',
    targets: 'cache',
    weight: 3,
    seconds: [1, 20],
    size: [0, 0],
  },
  'silence the cache': {
    disturbs: 'cache',
    targets: 'cache',
    weight: 2,
    seconds: [1, 15],
    size: [0, 0],
  },
  'delay the cache': {
    disturbs: 'cache',
    targets: 'cache',
    weight: 2,
    seconds: [1, 15],
    size: [20, 800],
  },
  'cut the cache': {
    disturbs: 'cache',
    targets: 'cache',
    weight: 2,
    seconds: [0, 0],
    size: [1, 3000],
  },
  'kill MariaDB': { disturbs: 'sql', targets: 'mariadb', weight: 2, seconds: [0, 5], size: [0, 0] },
  'stop MariaDB': {
    disturbs: 'sql',
    targets: 'mariadb',
    weight: 2,
    seconds: [1, 20],
    size: [0, 0],
  },
  'read-only SQL': {
    disturbs: 'sql',
    targets: 'mariadb',
    weight: 2,
    seconds: [1, 60],
    size: [0, 0],
  },
  'step a host': {
    disturbs: 'sql',
    targets: 'host',
    weight: 2,
    seconds: [3, 30],
    size: [-2 * 3600_000, 2 * 3600_000],
  },
  'step a host by days': {
    disturbs: 'sql',
    targets: 'host',
    weight: 1,
    seconds: [3, 30],
    size: [86_400_000, 30 * 86_400_000],
  },
  'kill connections': {
    disturbs: 'sql',
    targets: 'mariadb',
    weight: 3,
    seconds: [0, 0],
    size: [1, 8],
  },
  'lock rows': { disturbs: 'sql', targets: 'database', weight: 3, seconds: [1, 15], size: [0, 0] },
  'silence SQL': {
    disturbs: 'sql',
    targets: 'sqlRoute',
    weight: 3,
    seconds: [1, 15],
    size: [0, 0],
  },
  'delay SQL': {
    disturbs: 'sql',
    targets: 'sqlRoute',
    weight: 2,
    seconds: [1, 15],
    size: [5, 400],
  },
  'cut SQL': { disturbs: 'sql', targets: 'sqlRoute', weight: 3, seconds: [0, 0], size: [1, 3000] },
} as const satisfies Record<string, FaultTraits>

export type FaultType = keyof typeof TYPES

const ALL_TYPES = Object.entries(TYPES).map(([name, type]) => ({
  name: name as FaultType,
  ...(type as FaultTraits),
}))

/** Nothing happens before, so that all processes have begun. */
const FIRST_MS = 3_000
const PAUSE_MS = [300, 2_000] as const

/**
 * A run is cut into phases, and in each of them only some things are disturbed. The first has
 * everything.
 */
const PHASES: readonly {
  disturbs: readonly Disturbed[]
  seconds: readonly [number, number]
  weight: number
}[] = [
  { disturbs: ['none', 'process', 'cache', 'sql'], seconds: [60, 180], weight: 4 },
  { disturbs: ['none', 'cache'], seconds: [120, 240], weight: 2 },
  { disturbs: ['none', 'sql'], seconds: [60, 120], weight: 1 },
  // Long enough for the rule of killed writers to hold some rows to it.
  { disturbs: ['none'], seconds: [180, 240], weight: 1 },
]

export function planOf(seed: number, seconds: number, targets: Targets): Fault[] {
  const random = new Random(seed)
  const faults: Fault[] = []
  const busyUntil = new Map<string, number>()
  const end = seconds * 1000
  let phase = PHASES[0]!
  let phaseEnd = random.between(...milliseconds(phase.seconds))
  let at = FIRST_MS
  while (at < end) {
    if (at >= phaseEnd) {
      phase = weighted(random, PHASES)
      phaseEnd = at + random.between(...milliseconds(phase.seconds))
    }
    const type = weighted(random, ALL_TYPES)
    const target = random.pick(targets[type.targets])
    const ms = Math.min(random.between(...milliseconds(type.seconds)), end - at)
    const size = random.between(...type.size)
    // Drawn and left out, so that a quiet phase has no more kills than a wild one.
    if (phase.disturbs.includes(type.disturbs) && (busyUntil.get(target) ?? 0) <= at) {
      faults.push({ type: type.name, target, at, ms, size })
      busyUntil.set(target, at + ms + 1)
    }
    at += random.between(...PAUSE_MS)
  }
  return faults
}

function milliseconds([from, to]: readonly [number, number]): [number, number] {
  return [from * 1000, to * 1000]
}

function weighted<T extends { readonly weight: number }>(random: Random, choices: readonly T[]): T {
  let left = random.next() * choices.reduce((sum, { weight }) => sum + weight, 0)
  for (const choice of choices) {
    left -= choice.weight
    if (left < 0) return choice
  }
  return choices.at(-1)!
}
