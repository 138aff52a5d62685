/** A site of one process: the part `embedded`. */
import { number } from '../harness/table.js'
import { type Figures, metric, settingsOf, shown } from './measured.js'

const REQUESTS = 'requests'
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
            measure.metric === 'bytes/visit',
        ),
      )
      const of = (setting: string | undefined, what: string): string =>
        setting === undefined ? '' : shown(samples.spread(name, setting, metric(what)))
      return {
        contender: label,
        'SQL has': keeps,
        'CPU until the visit is in SQL, µs a request': of(REQUESTS, 'CPU µs/request until in SQL'),
        'CPU, µs a request': of(REQUESTS, 'CPU µs/request'),
        'statistics, ms': of(visits, 'stats, ms'),
        'bytes a visit': of(visits, 'bytes/visit'),
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
    number(
      Math.max(
        ...samples.of(name, setting, metric('longest turn without waiting for a processor, ms')),
      ),
    )
  return {
    rows: sizes.flatMap((size) =>
      CONTENDERS.filter(([name]) => name !== 'nothing').map(([name, label]) => {
        const removes = settingsOf(measured, name).includes(`${size} removed`)
        return {
          'rows waiting': number(Number(size)),
          contender: label,
          'rows/s': shown(samples.spread(name, size, metric('rows/s'))),
          'event loop held, ms': name === 'INSERT' ? '' : longest(name, size),
          'removed, rows/s': removes
            ? shown(samples.spread(name, `${size} removed`, metric('rows/s removed')))
            : '',
          'held while removing, ms': removes ? longest(name, `${size} removed`) : '',
        }
      }),
    ),
  }
}
