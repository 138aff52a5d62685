/** A site of one process: the part `embedded`. */
import { number } from '../harness/table.js'
import type { Metric } from '../harness/samples.js'
import {
  BYTES,
  CPU,
  IN_SQL,
  REMOVED,
  removing,
  REQUESTS,
  SPEED,
  STATS,
  TURNS,
} from '../parts/embedded.js'
import { type Figures, settingsOf, shown } from './measured.js'

const ALL = 'rows, visitors, sums'
const CONTENDERS = [
  ['nothing', 'nothing is counted', ''],
  ['INSERT', 'one `INSERT` per visit', 'rows'],
  ['buffer', 'a buffer in the process, 10 s', 'rows'],
  ['rows', '**wide-cache**', ALL],
  ['rows, with dimensions', 'wide-cache, with all ready-made dimensions', ALL],
  ['sums', "wide-cache, `keep: 'sums'`", 'visitors, sums'],
] as const

/** Costs of a request, of reading, and of a visit on the disk. */
export const embedded: Figures = (read) => {
  const measured = read('embedded')
  const { samples } = measured
  return {
    rows: CONTENDERS.map(([name, label, keeps]) => {
      const visits = settingsOf(measured, name).find((setting) =>
        measured.result.measures.some(
          (measure) =>
            measure.contender === name &&
            measure.setting === setting &&
            measure.metric === BYTES.metric,
        ),
      )
      const of = (setting: string | undefined, what: Metric): string =>
        setting === undefined ? '' : shown(samples.spread(name, setting, what))
      return {
        contender: label,
        'SQL has': keeps,
        'CPU until the visit is in SQL, µs a request': of(REQUESTS, IN_SQL),
        'CPU, µs a request': of(REQUESTS, CPU),
        'statistics, ms': of(visits, STATS),
        'bytes a visit': of(visits, BYTES),
      }
    }),
  }
}

/** Speed at which a backlog comes to SQL, and how long the process answers no request meanwhile. */
export const embeddedCollecting: Figures = (read) => {
  const measured = read('embedded')
  const { samples } = measured
  const sizes = settingsOf(measured, 'rows').filter((setting) => /^\d+$/.test(setting))
  const longest = (name: string, setting: string): string =>
    number(Math.max(...samples.of(name, setting, TURNS.own)))
  return {
    rows: sizes.flatMap((size) =>
      CONTENDERS.filter(([name]) => name !== 'nothing').map(([name, label]) => {
        const removes = settingsOf(measured, name).includes(removing(size))
        return {
          'rows waiting': number(Number(size)),
          contender: label,
          'rows/s': shown(samples.spread(name, size, SPEED)),
          'event loop held, ms': name === 'INSERT' ? '' : longest(name, size),
          'removed, rows/s': removes ? shown(samples.spread(name, removing(size), REMOVED)) : '',
          'held while removing, ms': removes ? longest(name, removing(size)) : '',
        }
      }),
    ),
  }
}
