import type { Random } from './random.js'

/** What a seed decides about its run before it begins. Probabilities are of one request or statement. */
export interface Scenario {
  readonly width: number
  readonly layerSeconds: number
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
  /** How far the collectors' clocks are apart when they begin. */
  readonly jitterMs: number
  /** Milliseconds for which all is quiet between two halves, 0: none. */
  readonly pauseMs: number
  readonly servers: number
  readonly itemLimit: number
  readonly serverBytes: number
  readonly refusesWhenFull: boolean
  readonly differentLists: boolean
  readonly clocksWrong: boolean
  readonly requestLost: number
  readonly replyLost: number
  readonly late: number
  readonly duplicated: number
  readonly statementFails: number
  readonly commitUnknown: number
  /** How many disasters (a flush, a kill, a stall, a database away, …) happen. */
  readonly disasters: number
}

/** Some seeds are calm, most have a few kinds of faults, some have them all. */
export function scenarioOf(random: Random): Scenario {
  const layerSeconds = random.pick([1, 3, 3, 5])
  const drainAfterLayers = random.pick([1, 2, 2, 3])
  const drainAge = (drainAfterLayers + 1) * layerSeconds
  const leastConfirm = drainAge + 25
  const bigRows = random.chance(0.1)
  const often = (probability: number, rates: readonly number[]) => (random.chance(probability) ? random.pick(rates) : 0)
  return {
    width: random.pick([1, 2, 3, 5]),
    layerSeconds,
    drainAfterLayers,
    cellTtlSeconds: Math.max(drainAge + 10, random.pick([15, 30, 60, 60, 200])),
    confirmSeconds: leastConfirm + random.pick([0, 0, 10, 40]),
    flushMs: random.pick([20, 50, 500]),
    closeTimeoutMs: random.pick([500, 5000, 5000]),
    bigRows,
    poison: random.chance(0.2),
    writers: random.between(1, 4),
    collectors: random.between(0, 2),
    faultsMs: random.between(40, 140) * 1000,
    collectEveryMs: random.pick([4, 10, 10, 15]) * 1000,
    jitterMs: random.pick([0, 10, 5000]),
    pauseMs: random.pick([0, 0, 0, 0, 0, 0, 0, 3600_000, 25 * 3600_000]),
    servers: random.between(1, 3),
    itemLimit: random.chance(0.3) ? (bigRows ? 700_000 : 400) : 1024 * 1024,
    serverBytes: random.chance(0.2) ? (bigRows ? 1_500_000 : 2000) : Infinity,
    refusesWhenFull: random.chance(0.5),
    differentLists: random.chance(0.15),
    clocksWrong: random.chance(0.4),
    requestLost: often(0.3, [0.01, 0.05, 0.3]),
    replyLost: often(0.4, [0.01, 0.05, 0.3]),
    late: often(0.4, [0.02, 0.1]),
    duplicated: often(0.4, [0.02, 0.2]),
    statementFails: often(0.4, [0.005, 0.02, 0.1]),
    commitUnknown: often(0.5, [0.05, 0.3]),
    disasters: random.pick([0, 1, 2, 4, 8]),
  }
}
