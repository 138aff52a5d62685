/** The regression guard: a result beside an earlier one. */
import type { Result } from './result.js'
import type { Measure } from './samples.js'
import { type Table, withSpread } from './table.js'

export interface Comparison {
  readonly table: Table
  /** How many measures got worse by more than both spreads. */
  readonly worse: number
}

/** The ratios of what both have measured, new over old. */
export function compare(old: Result, now: Result): Comparison {
  const key = ({ contender, setting, metric }: Measure): string => JSON.stringify([contender, setting, metric])
  const before = new Map(old.measures.map((measure) => [key(measure), measure]))
  const pairs = now.measures.flatMap((measure) => {
    const earlier = before.get(key(measure))
    return earlier ? [{ earlier, measure, verdict: verdict(earlier, measure) }] : []
  })
  const rows = pairs.map(({ earlier, measure, verdict }) => ({
    contender: measure.contender,
    setting: measure.setting,
    metric: measure.metric,
    then: withSpread(earlier),
    now: withSpread(measure),
    ratio: earlier.median === 0 ? '' : (measure.median / earlier.median).toFixed(2),
    verdict,
  }))
  return { table: { title: `${now.part}: ${old.date} (${old.mode}) and ${now.date} (${now.mode})`, rows }, worse: pairs.filter(({ verdict }) => verdict === 'worse').length }
}

/** `worse` and `better` only where the middle halves of the samples do not touch. */
function verdict(old: Measure, now: Measure): 'worse' | 'better' | '' {
  if (now.better === null) return ''
  const [above, below] = now.better === 'more' ? (['better', 'worse'] as const) : (['worse', 'better'] as const)
  return now.low > old.high ? above : now.high < old.low ? below : ''
}
