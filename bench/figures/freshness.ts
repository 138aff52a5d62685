/** Figures of how soon visits are in the figures: the part `freshness`. */
import type { Metric } from '../harness/samples.js'
import { number } from '../harness/table.js'
import { METRICS, WIDE_CACHE } from '../parts/freshness.js'
import { bySetting, columnsOf, type Figures, type Tables } from './measured.js'

/** The medians of these metrics, in the settings that have them. */
const medians = (
  first: string,
  isShown: (setting: string) => boolean,
  metrics: Metric[],
): Figures =>
  bySetting('freshness', WIDE_CACHE, (setting, samples) =>
    isShown(setting)
      ? {
          [first]: setting,
          ...columnsOf(metrics, (of) => [
            of.metric,
            number(samples.spread(WIDE_CACHE, setting, of).median),
          ]),
        }
      : undefined,
  )

export const tables: Tables = {
  freshness: medians('processes, visits in all', (setting) => setting.includes('/s'), [
    METRICS.median,
    METRICS.p95,
    METRICS.most,
  ]),
  idle: medians('without visits', (setting) => setting.endsWith(' idle processes'), [
    METRICS.statements,
    METRICS.reads,
    METRICS.keys,
  ]),
}
