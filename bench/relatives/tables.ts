/** Tables of the part `relatives`. */
import type { Bench, Metric } from '../harness/part.js'
import type { Spread } from '../harness/statistics.js'
import { number, type Table, withSpread } from '../harness/table.js'
import { INCREMENTS, ONE_ROW, P50, P99, PLACES, settingOf, SHARDED } from './apart.js'
import type { Race } from './race.js'
import { BYTES, COUNT_MS, MICROSECONDS, ONE_ITEM } from './viewers.js'
import { WRITERS } from './word-count.js'

/** The number of callers that the factors are for. */
export const CALLERS = 64

/** A race as it is run here. */
export interface Lap {
  readonly race: Race
  readonly callers: readonly number[]
  readonly ms: number
  /** With as many callers as the factors are for. */
  readonly claimMs?: number
}

export function table(bench: Bench, { race, callers }: Lap): Table {
  const [baseline] = race.contenders
  const shown = shownOf(callers)
  const rows = race.contenders.map((contender) => ({
    [`${race.name}, ${race.metric.metric} (times the first row)`]: contender.name,
    ...Object.fromEntries(
      shown.map((count) => {
        if (contender.callers?.includes(count) === false) return [of(count), '']
        const { median } = bench.samples.spread(contender.name, of(count), race.metric)
        const ratio = (): Spread =>
          bench.samples.ratio(contender.name, baseline!.name, of(count), race.metric)
        const times = contender === baseline ? '' : ` (${withSpread(ratio())})`
        return [of(count), `${number(Math.round(median))}${times}`]
      }),
    ),
  }))
  return { title: race.name, rows }
}

export function latencyTable(bench: Bench, { race, callers }: Lap): Table {
  return {
    title: `${race.name}: what a call takes`,
    rows: race.contenders.map((contender) => ({
      'ms, p50 and p99': contender.name,
      ...Object.fromEntries(
        shownOf(callers).map((count) => {
          if (contender.callers?.includes(count) === false) return [of(count), '']
          const [p50, p99] = [P50, P99].map((metric) =>
            number(bench.samples.spread(contender.name, of(count), metric).median),
          )
          return [of(count), `${p50}, ${p99}`]
        }),
      ),
    })),
  }
}

export function apartTable({ samples }: Bench, processes: readonly number[]): Table {
  return {
    title: 'A counter, each caller in a process of its own',
    rows: Object.values(PLACES).flatMap((place) =>
      processes.map((count) => {
        const setting = settingOf(count, place)
        const shown = (contender: string, metric: Metric): string =>
          withSpread(samples.spread(contender, setting, metric))
        return {
          setting,
          'one row, increments/s': shown(ONE_ROW, INCREMENTS),
          'p50 ms': shown(ONE_ROW, P50),
          'p99 ms': shown(ONE_ROW, P99),
          'ShardedCounter, increments/s': shown(SHARDED, INCREMENTS),
          'its p50 ms': shown(SHARDED, P50),
          'its p99 ms': shown(SHARDED, P99),
          times: withSpread(samples.ratio(SHARDED, ONE_ROW, setting, INCREMENTS)),
        }
      }),
    ),
  }
}

export function viewersTable({ samples }: Bench): Table {
  const all = samples.measures().filter(({ contender }) => contender === ONE_ITEM)
  return {
    title: 'Hits: one item, each view by another viewer',
    rows: [...new Set(all.map(({ setting }) => setting))].map((setting) => ({
      setting,
      ...Object.fromEntries(
        [MICROSECONDS, BYTES, COUNT_MS].map((metric) => [
          metric.metric,
          number(samples.spread(ONE_ITEM, setting, metric).median),
        ]),
      ),
    })),
  }
}

function shownOf(callers: readonly number[]): number[] {
  return callers.filter((count) => [1, 8, WRITERS, CALLERS, 128].includes(count))
}

export function of(callers: number): string {
  return callers === 1 ? '1 caller' : `${callers} callers`
}
