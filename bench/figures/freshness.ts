/** Figures of how soon visits are in the figures: the part `freshness`. */
import type { Metric, Samples } from '../harness/samples.js'
import { number } from '../harness/table.js'
import { METRICS, WIDE_CACHE } from '../parts/freshness.js'
import { bySetting } from './measured.js'

const IDLE = ' idle processes'

/** Columns with the medians of these metrics. */
function medians(samples: Samples, setting: string, metrics: readonly Metric[]) {
  return Object.fromEntries(
    metrics.map((of) => [of.metric, number(samples.spread(WIDE_CACHE, setting, of).median)]),
  )
}

export const freshness = bySetting('freshness', WIDE_CACHE, (setting, samples) =>
  setting.includes('/s')
    ? {
        'processes, visits in all': setting,
        ...medians(samples, setting, [METRICS.median, METRICS.p95, METRICS.most]),
      }
    : undefined,
)

export const idle = bySetting('freshness', WIDE_CACHE, (setting, samples) =>
  setting.endsWith(IDLE)
    ? {
        'without visits': setting,
        ...medians(samples, setting, [METRICS.statements, METRICS.reads, METRICS.keys]),
      }
    : undefined,
)
