/**
 * The verdict of the runs of two trees on each measure. A run counts with its median: rounds of one
 * process resemble each other more than two processes of the same program do.
 */
import type { Result } from '../harness/result.js'
import type { Measure } from '../harness/samples.js'
import { median, spread } from '../harness/statistics.js'
import { number, withSpread } from '../harness/table.js'

/** The runs of one part, in pairs: the n-th of each tree ran right after each other. */
type Runs = Readonly<Record<'then' | 'now', readonly Result[]>>

export type Verdict = ReturnType<typeof verdict>

/**
 * Least number of runs. With fewer, all of one tree are too often above all of the other by chance.
 */
export const LEAST_RUNS = 3
/** Least difference worth a look, as a share, however little it varies. */
const LEAST_DIFFERENCE = 0.05

const hundredths = (value: number): string => value.toFixed(2)
const middle = ({ samples }: Measure): number => median(samples)

/**
 * All measures that both have, each with the ratio new over old, taken pair by pair. @throws Error
 * if they have none in common
 */
export function verdict({ then, now }: Runs, thenName: string) {
  const [before, after] = [inAll(then), inAll(now)]
  const common = [...after].flatMap(([key, measures]) => {
    const earlier = before.get(key)
    return earlier ? [{ earlier: earlier.map(middle), measures }] : []
  })
  const part = now[0]?.part ?? 'nothing'
  if (common.length === 0) throw new Error(`The two trees have no measure of "${part}" in common`)
  const worse: string[] = []
  const rows = common.map(({ earlier, measures }) => {
    const { contender, setting, metric, better } = measures[0]!
    const later = measures.map(middle)
    const said = judge(earlier, later, better)
    if (said === 'worse') {
      worse.push(`${[contender, setting].filter(Boolean).join(', ')}: ${metric}`)
    }
    return {
      contender,
      setting,
      metric,
      [thenName]: number(median(earlier)),
      now: number(median(later)),
      ratio: earlier.every((value) => value > 0)
        ? withSpread(spread(later.map((value, run) => value / earlier[run]!)), hundredths)
        : '',
      verdict: said,
    }
  })
  return {
    table: { title: `${part}: ${now.length} runs of each tree`, rows },
    /** `contender, setting: metric`, of what got worse beyond the spread. */
    worse,
    /** Reasons why the two are less than comparable, as sentences. */
    notes: [
      ...onlyIn(before, after, 'have gone'),
      ...onlyIn(after, before, 'are new'),
      ...differentSettings(then[0]!, now[0]!),
    ],
  }
}

/**
 * `worse` if every run of the new tree is worse than every run of the old one, and the medians
 * differ by 5 % or more; likewise `better`.
 */
export function judge(
  then: readonly number[],
  now: readonly number[],
  better: Measure['better'],
): 'worse' | 'better' | '' {
  if (better === null || Math.min(then.length, now.length) < LEAST_RUNS) return ''
  const [a, b] = [median(then), median(now)]
  if (Math.abs(a - b) < LEAST_DIFFERENCE * Math.max(Math.abs(a), Math.abs(b))) return ''
  const above = Math.min(...now) > Math.max(...then)
  const below = Math.max(...now) < Math.min(...then)
  if (!above && !below) return ''
  return above === (better === 'more') ? 'better' : 'worse'
}

/** By their names, the measures that each of the results has; of each, one a result. */
function inAll(results: readonly Result[]): Map<string, Measure[]> {
  const all = new Map<string, Measure[]>()
  for (const { measures } of results) {
    for (const measure of measures) {
      const key = JSON.stringify([measure.contender, measure.setting, measure.metric])
      all.set(key, [...(all.get(key) ?? []), measure])
    }
  }
  return new Map([...all].filter(([, measures]) => measures.length === results.length))
}

function onlyIn(some: Map<string, unknown>, others: Map<string, unknown>, what: string): string[] {
  const count = [...some.keys()].filter((key) => !others.has(key)).length
  return count === 0 ? [] : [`${count} measures ${what}: they are not compared.`]
}

/** The two trees measure by their own benchmarks, which may differ as well. */
function differentSettings(then: Result, now: Result): string[] {
  const text = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value))
  const names = [...new Set([...Object.keys(then.settings), ...Object.keys(now.settings)])]
  return names
    .filter((name) => text(then.settings[name]) !== text(now.settings[name]))
    .map(
      (name) => `Setting "${name}": ${text(then.settings[name])}, now ${text(now.settings[name])}.`,
    )
}
