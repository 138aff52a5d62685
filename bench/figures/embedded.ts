/** A site of one process: the part `embedded`. */
import { number } from '../harness/table.js'
import type { Metric } from '../harness/samples.js'
import * as part from '../parts/embedded.js'
import { settingsOf, shown, tableOf, type Tables } from './measured.js'

const ALL = 'rows, visitors, sums'
const CONTENDERS = [
  ['nothing', 'nothing is counted', ''],
  ['INSERT', 'one `INSERT` per visit', 'rows'],
  ['buffer', 'a buffer in the process, 10 s', 'rows'],
  ['rows', '**wide-cache**', ALL],
  ['rows, with dimensions', 'wide-cache, with all ready-made dimensions', ALL],
  ['sums', "wide-cache, `keep: 'sums'`", 'visitors, sums'],
] as const

export const tables: Tables = {
  /** Costs of a request, of reading, and of a visit on the disk. */
  embedded: tableOf('embedded', (measured) =>
    CONTENDERS.map(([name, label, keeps]) => {
      const [visits] = settingsOf(measured, name, part.BYTES)
      const of = (setting: string | undefined, what: Metric): string =>
        setting === undefined ? '' : shown(measured.samples.spread(name, setting, what))
      return {
        contender: label,
        'SQL has': keeps,
        'CPU until the visit is in SQL, µs a request': of(part.REQUESTS, part.IN_SQL),
        'CPU, µs a request': of(part.REQUESTS, part.CPU),
        'statistics, ms': of(visits, part.STATS),
        'bytes a visit': of(visits, part.BYTES),
      }
    }),
  ),

  /** Speed at which a backlog comes to SQL, and how long no request is answered meanwhile. */
  'embedded-collecting': tableOf('embedded', (measured) => {
    const { samples } = measured
    const sizes = settingsOf(measured, 'rows').filter((setting) => /^\d+$/.test(setting))
    const longest = (name: string, setting: string): string =>
      number(Math.max(...samples.of(name, setting, part.TURNS.own)))
    return sizes.flatMap((size) =>
      CONTENDERS.slice(1).map(([name, label]) => {
        const removal = part.removing(size)
        const removes = settingsOf(measured, name).includes(removal)
        return {
          'rows waiting': number(Number(size)),
          contender: label,
          'rows/s': shown(samples.spread(name, size, part.SPEED)),
          'event loop held, ms': name === 'INSERT' ? '' : longest(name, size),
          'removed, rows/s': removes ? shown(samples.spread(name, removal, part.REMOVED)) : '',
          'held while removing, ms': removes ? longest(name, removal) : '',
        }
      }),
    )
  }),
}
