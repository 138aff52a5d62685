/** The regression guard: a result beside an earlier one. */
import type { Result } from './result.js'
import type { Measure } from './samples.js'
import { type Table, withSpread } from './table.js'

export interface Comparison {
  readonly table: Table
  /** Number of measures that got worse by more than both spreads. */
  readonly worse: number
}

/** Fewer samples have no spread to speak of. */
const LEAST_SAMPLES = 3

/**
 * The ratios of what both have measured, new over old. @throws Error if they are not to be compared
 */
export function compare(old: Result, now: Result): Comparison {
  const key = ({ contender, setting, metric }: Measure): string =>
    JSON.stringify([contender, setting, metric])
  const before = new Map(old.measures.map((measure) => [key(measure), measure]))
  const pairs = now.measures.flatMap((measure) => {
    const earlier = before.get(key(measure))
    return earlier ? [{ earlier, measure, verdict: verdict(earlier, measure) }] : []
  })
  if (old.mode !== now.mode) {
    throw new Error(
      `The earlier result is a ${old.mode} one, the newest is a ${now.mode} one: run both ` +
        'the same way',
    )
  }
  if (pairs.length === 0) {
    throw new Error(`The two results of "${now.part}" have no measure in common`)
  }
  const rows = pairs.map(({ earlier, measure, verdict }) => ({
    contender: measure.contender,
    setting: measure.setting,
    metric: measure.metric,
    then: withSpread(earlier),
    now: withSpread(measure),
    ratio: earlier.median === 0 ? '' : (measure.median / earlier.median).toFixed(2),
    verdict,
  }))
  return {
    table: { title: `${now.part}: ${old.date} (${old.mode}) and ${now.date} (${now.mode})`, rows },
    worse: pairs.filter(({ verdict }) => verdict === 'worse').length,
  }
}

/**
 * `worse` and `better` only where there are several samples and their middle halves do not touch.
 */
function verdict(old: Measure, now: Measure): 'worse' | 'better' | '' {
  if (now.better === null || Math.min(old.samples.length, now.samples.length) < LEAST_SAMPLES) {
    return ''
  }
  const [above, below] =
    now.better === 'more' ? (['better', 'worse'] as const) : (['worse', 'better'] as const)
  return now.low > old.high ? above : now.high < old.low ? below : ''
}
