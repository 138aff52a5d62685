/** The model's constants, from a result of the part `scale`. */
import type { Constants, Cost } from '../model.js'
import type { Result } from '../harness/result.js'
import type { Measure } from '../harness/samples.js'
import { APPEND, CELL_BYTES, COLLECTOR_TIME, DATABASE_CPU, ROW_BYTES, ROWS_PER_FRAME, ROWS_WRITTEN, SERVER, UNEVENNESS, USABLE, WEB, WIDE_CACHE } from './metrics.js'

type Kept = Pick<Result, 'date' | 'mode'> & { readonly measures: readonly Measure[] }

/**
 * A cost's parts for a visit and for a frame come from the settings with the most and the fewest visits a frame;
 * an append's, for itself and for a byte that it copies, from the smallest and the largest cells.
 *
 * @throws Error if `result` has not what it takes
 */
export function constantsOf({ date, mode, measures }: Kept): Constants {
  const of = (contender: string, metric: { readonly metric: string }): Measure[] => {
    const found = measures.filter((measure) => measure.contender === contender && measure.metric === metric.metric)
    if (found.length === 0) throw new Error(`The result of "scale" of ${date} has no "${metric.metric}": run \`npm run bench -- scale\` again`)
    return found
  }
  const sizes = of(WIDE_CACHE, ROWS_PER_FRAME).sort((a, b) => a.median - b.median)
  const [small, large] = [sizes[0]!, sizes.at(-1)!]
  if (small.median === large.median) throw new Error(`The result of "scale" of ${date} knows one size of frames only: run \`npm run bench -- scale\` again`)

  const cost = (metric: { readonly metric: string }): Cost => {
    const at = (setting: string): number => of(WIDE_CACHE, metric).find((measure) => measure.setting === setting)?.median ?? NaN
    const frame = Math.max(0, (at(small.setting) - at(large.setting)) / (1 / small.median - 1 / large.median))
    return { frame, visit: Math.max(0, at(large.setting) - frame / large.median) }
  }
  const appends = of(SERVER, APPEND).sort((a, b) => Number(a.setting) - Number(b.setting))
  const [least, most] = [CELL_BYTES[0], CELL_BYTES.at(-1)!]
  // On the average of its growing a cell is half as large.
  const copiedByte = Math.max(0, (appends.at(-1)!.median - appends[0]!.median) / ((most - least) / 2))
  return {
    source: `bench/results/scale.json of ${date} (${mode})`,
    rowBytes: ROW_BYTES,
    web: cost(WEB),
    collector: cost(COLLECTOR_TIME),
    database: cost(DATABASE_CPU),
    rowsWritten: cost(ROWS_WRITTEN),
    cacheOperation: appends[0]!.median - copiedByte * (least / 2),
    cacheCopiedByte: copiedByte,
    cacheUnevenness: Math.max(...of(WIDE_CACHE, UNEVENNESS).map(({ median }) => median)),
    cacheUsableShare: of(SERVER, USABLE)[0]!.median,
  }
}
