/** Costs of a request: the parts `overhead` and `micro`. */
import { CASES, REPEATED, WELL } from '../overhead/outages.js'
import { FULL_LOAD, PAGE, YOUNG } from '../parts/overhead.js'
import {
  AT_RATES,
  type Contender,
  CONTENDERS,
  CPU,
  EMPTY_HOOK,
  MAIN,
  NOTHING,
  ON_A_PAGE,
  IN_SQL,
  OVER_HOOK,
  P50,
  P99,
  THROUGHPUT,
} from '../overhead/contenders.js'
import type { Metric, Samples } from '../harness/samples.js'
import { interval } from '../harness/statistics.js'
import { costText } from '../harness/table.js'
import { BYTES, NS } from '../parts/micro.js'
import { type Figures, settingsOf, share, shown } from './measured.js'

const WHOLE = 'the whole'

/** A contender as tables name it. */
export function named(label: string): string {
  return label.replace(/^wide-cache/, '**wide-cache**')
}

/** µs over an empty hook, with the 95 % interval; no middleware may save some. */
export function cost(samples: Samples, label: string, setting: string): string {
  if (label === EMPTY_HOOK.label) return '0'
  const over = interval(samples.of(label, setting, OVER_HOOK))
  return label === NOTHING.label ? shown(over) : costText(over)
}

/**
 * Of all processes until the visit is in SQL: µs over the hook in the same pair of processes, with
 * the 95 % interval. Empty for those whose visits do not come there.
 */
export function costInSql(samples: Samples, { label, counts }: Contender, setting: string): string {
  if (counts !== 'requests in SQL') return ''
  const [inSql, site, over] = [IN_SQL, CPU, OVER_HOOK].map((of) => samples.of(label, setting, of))
  return costText(interval(inSql!.map((micros, at) => micros - site![at]! + over![at]!)))
}

/** Percent, with the 95 % interval. */
export function ofHook(samples: Samples, label: string, setting: string): string {
  return label === EMPTY_HOOK.label
    ? '100'
    : share(interval(samples.of(label, setting, THROUGHPUT)))
}

/** Over an empty hook, by the rate of requests: of all threads, or of the main one. */
const byRate =
  (of: Metric): Figures =>
  (read) => {
    const { samples, result } = read('overhead')
    const settings = result.measures.flatMap(({ contender, metric, setting }) =>
      contender === EMPTY_HOOK.label && metric === MAIN.metric && setting !== PAGE ? setting : [],
    )
    return {
      rows: AT_RATES.filter((contender) => contender !== EMPTY_HOOK).map(({ label, keeps }) => ({
        'µs over an empty hook': named(label),
        'SQL has': keeps ?? '',
        ...Object.fromEntries(
          settings.map((setting) => [setting, shown(samples.spread(label, setting, of))]),
        ),
      })),
    }
  }
export const rates = byRate(OVER_HOOK)
export const ratesOfMain = byRate(MAIN)

export const overhead: Figures = (read) => {
  const { samples } = read('overhead')
  return {
    rows: CONTENDERS.map((contender) => ({
      ...costs(samples, contender, FULL_LOAD),
      'µs of the first requests': cost(samples, contender.label, YOUNG),
      'p99, ms': shown(interval(samples.of(contender.label, FULL_LOAD, P99))),
    })),
  }
}

/** The same beside a page that takes some time itself. */
export const overheadPage: Figures = (read) => {
  const { samples } = read('overhead')
  return { rows: ON_A_PAGE.map((contender) => costs(samples, contender, PAGE)) }
}

/** What a contender brings to SQL, at which cost of all, and the site's share of it. */
function costs(samples: Samples, contender: Contender, setting: string): Record<string, string> {
  const { label, keeps = '' } = contender
  return {
    contender: named(label),
    'SQL has': keeps,
    'µs until in SQL': costInSql(samples, contender, setting),
    'µs over an empty hook': cost(samples, label, setting),
    'CPU, µs a request': shown(interval(samples.of(label, setting, CPU))),
    'throughput, % of an empty hook': ofHook(samples, label, setting),
  }
}

export const outages: Figures = (read) => {
  const measured = read('overhead')
  const setting = settingsOf(measured, REPEATED.label)[0] ?? ''
  const { samples } = measured
  return {
    rows: CASES.map(({ label }) => ({
      site: named(label),
      'p50, ms': shown(samples.spread(label, setting, P50)),
      'p99, ms': shown(samples.spread(label, setting, P99)),
      'p99, times the healthy site':
        label === WELL.label ? '1' : shown(samples.ratio(label, WELL.label, setting, P99)),
    })),
  }
}

export const steps: Figures = (read) => {
  const measured = read('micro')
  const { samples, result } = measured
  return {
    rows: [...new Set(result.measures.map(({ contender }) => contender))].map((name) => ({
      step: name,
      'ns a visit': shown(samples.spread(name, '', NS)),
      '% of the whole': share(samples.ratio(name, WHOLE, '', NS)),
      'bytes a visit': shown(samples.spread(name, '', BYTES)),
    })),
  }
}
