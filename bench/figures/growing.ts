/** Costs of a visit as a site grows: the part `scale`, and the model that calculates from it. */
import { calculated } from '../scale/calculated.js'
import * as metrics from '../scale/metrics.js'
import { bySetting, columnsOf, shown, type Tables } from './measured.js'

const { WIDE_CACHE } = metrics
const COLUMNS = [
  metrics.ROWS_PER_FRAME,
  metrics.WEB,
  metrics.OPERATIONS,
  metrics.CACHE_BYTES,
  metrics.COLLECTOR_CPU,
  metrics.DATABASE_CPU,
  metrics.ROWS_WRITTEN,
  metrics.ALL_CPU,
]

export const tables: Tables = {
  growing: bySetting('scale', WIDE_CACHE, (setting, samples) => ({
    setting,
    ...columnsOf(COLUMNS, (of) => [of.metric, shown(samples.spread(WIDE_CACHE, setting, of))]),
  })),
  model: (read) => calculated((part) => read(part).result)[0]!,
  'model-ends': (read) => calculated((part) => read(part).result)[1]!,
}
