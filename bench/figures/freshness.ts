/** Figures of how soon visits are in the figures: the part `freshness`. */
import type { Metric } from '../harness/samples.js'
import { number } from '../harness/table.js'
import { METRICS, WIDE_CACHE } from '../parts/freshness.js'
import { columnsOf, type Figures, settingsOf, tableOf, type Tables } from './measured.js'

/** The medians of these metrics, in the settings that have them. */
const medians = (first: string, metrics: readonly Metric[]): Figures =>
  tableOf('freshness', (measured) =>
    settingsOf(measured, WIDE_CACHE, metrics[0]).map((setting) => ({
      [first]: setting,
      ...columnsOf(metrics, (of) => [
        of.metric,
        number(measured.samples.spread(WIDE_CACHE, setting, of).median),
      ]),
    })),
  )

export const tables: Tables = {
  freshness: medians('processes, visits in all', [METRICS.median, METRICS.p95, METRICS.most]),
  idle: medians('without visits', [METRICS.statements, METRICS.reads, METRICS.keys]),
}
