/** Figures of how soon visits are in the figures: the part `freshness`. */
import type { Samples } from '../harness/samples.js'
import { number } from '../harness/table.js'
import { bySetting, metric } from './measured.js'

const WIDE_CACHE = 'wide-cache'
const IDLE = ' idle processes'

/** Columns with the medians of these metrics. */
function medians(samples: Samples, setting: string, names: readonly string[]) {
  return Object.fromEntries(
    names.map((name) => [name, number(samples.spread(WIDE_CACHE, setting, metric(name)).median)]),
  )
}

export const freshness = bySetting('freshness', WIDE_CACHE, (setting, samples) =>
  setting.includes('/s')
    ? {
        'processes, visits in all': setting,
        ...medians(samples, setting, ['p50, s', 'p95, s', 'max, s']),
      }
    : undefined,
)

export const idle = bySetting('freshness', WIDE_CACHE, (setting, samples) =>
  setting.endsWith(IDLE)
    ? {
        'without visits': setting,
        ...medians(samples, setting, [
          'SQL statements/s',
          'pipelined cache reads/s',
          'keys read/s',
        ]),
      }
    : undefined,
)
