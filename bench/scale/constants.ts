/** The model's constants, from a result of the part `scale`. */
import type { Constants, Cost } from '../model.js'
import type { Result } from '../harness/result.js'
import type { Measure, Metric } from '../harness/samples.js'
import { lineThrough } from '../harness/statistics.js'
import * as metrics from './metrics.js'

const { CELL_BYTES, ROWS_PER_FRAME, SERVER, WIDE_CACHE } = metrics

export type Kept = Pick<Result, 'date' | 'mode' | 'measures'>

/**
 * A cost's parts for a visit and for a frame are those of the line that fits all settings best, by
 * least squares over frames a visit; an append's, for itself and for a byte that it copies, come
 * from the smallest and the largest cells.
 *
 * @throws Error if `result` has not what it takes
 */
export function constantsOf({ date, mode, measures }: Kept): Constants {
  const unusable = (why: string): Error =>
    new Error(`The result of "scale" of ${date} ${why}: run \`npm run bench -- scale\` again`)
  const of = (contender: string, { metric }: Metric): Measure[] => {
    const found = measures.filter((one) => one.contender === contender && one.metric === metric)
    if (found.length === 0) throw unusable(`has no "${metric}"`)
    return found
  }
  const framesPerVisit = new Map(
    of(WIDE_CACHE, ROWS_PER_FRAME).map(({ setting, median }) => [setting, 1 / median]),
  )
  if (new Set(framesPerVisit.values()).size === 1) {
    throw unusable('knows one size of frames only')
  }

  const cost = (metric: Metric): Cost => {
    const points = of(WIDE_CACHE, metric).map(({ setting, median }) => ({
      x: framesPerVisit.get(setting) ?? NaN,
      y: median,
    }))
    const { slope, intercept } = lineThrough(points)
    return { frame: Math.max(0, slope), visit: Math.max(0, intercept) }
  }
  const appends = of(SERVER, metrics.APPEND).sort((a, b) => Number(a.setting) - Number(b.setting))
  const [least, most] = [CELL_BYTES[0], CELL_BYTES.at(-1)!]
  // On the average of its growing a cell is half as large.
  const [small, large] = [appends[0]!.median, appends.at(-1)!.median]
  const copiedByte = Math.max(0, (large - small) / ((most - least) / 2))
  return {
    source: `bench/results/scale.json of ${date} (${mode})`,
    rowBytes: metrics.ROW_BYTES,
    web: cost(metrics.WEB),
    collector: cost(metrics.COLLECTOR_TIME),
    database: cost(metrics.DATABASE_CPU),
    rowsWritten: cost(metrics.ROWS_WRITTEN),
    cacheOperation: small - copiedByte * (least / 2),
    cacheCopiedByte: copiedByte,
    cacheUnevenness: Math.max(...of(WIDE_CACHE, metrics.UNEVENNESS).map(({ median }) => median)),
    cacheUsableShare: of(SERVER, metrics.USABLE)[0]!.median,
  }
}
