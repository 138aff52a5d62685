/** Costs of a request: the parts `overhead` and `micro`. */
import { CASES, REPEATED, WELL } from '../overhead/outages.js'
import { FULL_LOAD, PAGE, YOUNG } from '../parts/overhead.js'
import * as overhead from '../overhead/contenders.js'
import { type Metric, P50, P99, type Samples } from '../harness/samples.js'
import { interval, type Spread } from '../harness/statistics.js'
import { costText } from '../harness/table.js'
import { BYTES, NS } from '../parts/micro.js'
import {
  columns,
  columnsOf,
  type Figures,
  settingsOf,
  share,
  shown,
  tableOf,
  type Tables,
} from './measured.js'

const { CPU, EMPTY_HOOK, IN_SQL, MAIN, OVER_HOOK } = overhead
const WHOLE = 'the whole'

/** A contender as tables name it. */
export function named(label: string): string {
  return label.replace(/^wide-cache/, '**wide-cache**')
}

/** µs over an empty hook, with the 95 % interval; no middleware may save some. */
export function cost(samples: Samples, label: string, setting: string): string {
  if (label === EMPTY_HOOK.label) return '0'
  const over = interval(samples.of(label, setting, OVER_HOOK))
  return label === overhead.NOTHING.label ? shown(over) : costText(over)
}

/**
 * What a contender brings to SQL, at which cost of all and of the site, `more` of it, and how many
 * requests are left, each with the 95 % interval. The cost of all processes until the visit is in
 * SQL is µs over the hook in the same pair; empty for those whose visits do not come there.
 */
export function costs(
  samples: Samples,
  { label, keeps, counts }: overhead.Contender,
  setting: string,
  more: (own: (metric: Metric) => Spread) => Record<string, string> = () => ({}),
): Record<string, string> {
  const of = (metric: Metric) => samples.of(label, setting, metric)
  const inSql = (): string =>
    costText(interval(of(IN_SQL).map((micros, at) => micros - of(CPU)[at]! + of(OVER_HOOK)[at]!)))
  return {
    'SQL has': keeps ?? '',
    'µs until in SQL': counts === 'requests in SQL' ? inSql() : '',
    'µs over an empty hook': cost(samples, label, setting),
    ...more((metric) => interval(of(metric))),
    'throughput, % of an empty hook':
      label === EMPTY_HOOK.label ? '100' : share(interval(of(overhead.THROUGHPUT))),
  }
}

/** The same of the part `overhead` alone. */
const allCosts = (samples: Samples, contender: overhead.Contender, setting: string) => ({
  contender: named(contender.label),
  ...costs(samples, contender, setting, (own) => ({ 'CPU, µs a request': shown(own(CPU)) })),
})

/** Over an empty hook, by the rate of requests: of all threads, or of the main one. */
const byRate = (of: Metric): Figures =>
  tableOf('overhead', (measured) => {
    const settings = settingsOf(measured, EMPTY_HOOK.label, MAIN).filter((one) => one !== PAGE)
    return overhead.AT_RATES.slice(1).map(({ label, keeps = '' }) => ({
      'µs over an empty hook': named(label),
      'SQL has': keeps,
      ...columnsOf(settings, (setting) => [
        setting,
        shown(measured.samples.spread(label, setting, of)),
      ]),
    }))
  })

export const tables: Tables = {
  overhead: tableOf('overhead', ({ samples }) =>
    overhead.CONTENDERS.map((contender) => ({
      ...allCosts(samples, contender, FULL_LOAD),
      'µs of the first requests': cost(samples, contender.label, YOUNG),
      'p99, ms': shown(interval(samples.of(contender.label, FULL_LOAD, P99))),
    })),
  ),

  /** Beside a page that takes some time itself. */
  'overhead-page': tableOf('overhead', ({ samples }) =>
    overhead.ON_A_PAGE.map((contender) => allCosts(samples, contender, PAGE)),
  ),

  outages: tableOf('overhead', (measured) => {
    const setting = settingsOf(measured, REPEATED.label)[0] ?? ''
    const { samples } = measured
    return CASES.map(({ label }) => ({
      site: named(label),
      ...columns(samples, label, setting, { 'p50, ms': P50, 'p99, ms': P99 }),
      'p99, times the healthy site':
        label === WELL.label ? '1' : shown(samples.ratio(label, WELL.label, setting, P99)),
    }))
  }),

  rates: byRate(OVER_HOOK),
  'rates-main': byRate(MAIN),

  steps: tableOf('micro', ({ samples, result }) =>
    [...new Set(result.measures.map(({ contender }) => contender))].map((name) => ({
      step: name,
      'ns a visit': shown(samples.spread(name, '', NS)),
      '% of the whole': share(samples.ratio(name, WHOLE, '', NS)),
      'bytes a visit': shown(samples.spread(name, '', BYTES)),
    })),
  ),
}
