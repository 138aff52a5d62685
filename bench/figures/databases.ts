/** Figures of the package on MariaDB and on PostgreSQL: the part `databases`. */
import { CALLS } from '../databases/calls.js'
import { EMPTY_HOOK, INSERT, STATEMENTS, WIDE_CACHE } from '../databases/requests.js'
import { MARIADB, POSTGRES } from '../databases/servers.js'
import { number } from '../harness/table.js'
import { CPU, CPU_WHOLE } from '../overhead/contenders.js'
import {
  COMMIT,
  CPU_A_ROW,
  MS,
  RATE,
  REMOVE,
  ROWS_PER_SECOND,
  STATS,
  TOP,
} from '../parts/databases.js'
import { type Figures, shown, sideBySide } from './measured.js'

export const databases = sideBySide(
  'databases',
  [MARIADB, POSTGRES],
  [
    ['rows/s that a collector commits', COMMIT, ROWS_PER_SECOND],
    ["CPU time of the collector's process, µs a row", COMMIT, CPU_A_ROW],
    ['rows/s that the retention removes', REMOVE, ROWS_PER_SECOND],
    ['`stats()`, ms', STATS, MS],
    ["`top('page')` of a day, ms", TOP, MS],
    ...Object.values(CALLS).map((name) => [name, name, RATE] as const),
  ],
)

export const databasesRequests: Figures = (read) => {
  const { samples } = read('databases')
  return {
    rows: [MARIADB, POSTGRES]
      .flatMap((database) =>
        [EMPTY_HOOK, WIDE_CACHE, INSERT].map((way) => {
          const isHook = way === EMPTY_HOOK
          return {
            way: isHook ? way : `${way}, ${database}`,
            'CPU until the visit is in SQL, µs': shown(samples.spread(way, database, CPU_WHOLE)),
            'CPU until the answer, µs': shown(samples.spread(way, database, CPU)),
            'times wide-cache': isHook
              ? ''
              : shown(samples.ratio(way, WIDE_CACHE, database, CPU_WHOLE)),
            'statements per visit': isHook
              ? ''
              : number(samples.spread(way, database, STATEMENTS).median),
          }
        }),
      )
      .filter((row, at) => at === 0 || row.way !== EMPTY_HOOK),
  }
}
