/** Costs of a visit as a site grows: the part `scale`, and the model that calculates from it. */
import { calculated } from '../scale/calculated.js'
import {
  ALL_CPU,
  CACHE_BYTES,
  COLLECTOR_CPU,
  DATABASE_CPU,
  OPERATIONS,
  ROWS_PER_FRAME,
  ROWS_WRITTEN,
  WEB,
  WIDE_CACHE,
} from '../scale/metrics.js'
import { bySetting, type Figures, shown } from './measured.js'

const COLUMNS = [
  ROWS_PER_FRAME,
  WEB,
  OPERATIONS,
  CACHE_BYTES,
  COLLECTOR_CPU,
  DATABASE_CPU,
  ROWS_WRITTEN,
  ALL_CPU,
]

export const growing = bySetting('scale', WIDE_CACHE, (setting, samples) => ({
  setting,
  ...Object.fromEntries(
    COLUMNS.map((of) => [of.metric, shown(samples.spread(WIDE_CACHE, setting, of))]),
  ),
}))

export const model: Figures = (read) => calculated((part) => read(part).result)[0]!

export const modelEnds: Figures = (read) => calculated((part) => read(part).result)[1]!
