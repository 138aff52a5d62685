/** Figures of the package on MariaDB and on PostgreSQL: the part `databases`. */
import { CALLS } from '../databases/calls.js'
import { EMPTY_HOOK, INSERT, STATEMENTS, WIDE_CACHE } from '../databases/requests.js'
import { MARIADB, POSTGRES } from '../databases/servers.js'
import { number } from '../harness/table.js'
import { CPU, CPU_WHOLE } from '../overhead/contenders.js'
import * as part from '../parts/databases.js'
import { shown, sideBySide, tableOf, type Tables } from './measured.js'

export const tables: Tables = {
  databases: sideBySide(
    'databases',
    [MARIADB, POSTGRES],
    [
      ['rows/s that a collector commits', part.COMMIT, part.ROWS_PER_SECOND],
      ["CPU time of the collector's process, µs a row", part.COMMIT, part.CPU_A_ROW],
      ['rows/s that the retention removes', part.REMOVE, part.ROWS_PER_SECOND],
      ['`stats()`, ms', part.STATS, part.MS],
      ["`top('page')` of a day, ms", part.TOP, part.MS],
      ...Object.values(CALLS).map((name) => [name, name, part.RATE] as const),
    ],
  ),

  'databases-requests': tableOf('databases', ({ samples }) =>
    [MARIADB, POSTGRES]
      .flatMap((database) =>
        [EMPTY_HOOK, WIDE_CACHE, INSERT].map((way) => {
          const unlessHook = (text: () => string): string => (way === EMPTY_HOOK ? '' : text())
          return {
            way: way === EMPTY_HOOK ? way : `${way}, ${database}`,
            'CPU until the visit is in SQL, µs': shown(samples.spread(way, database, CPU_WHOLE)),
            'CPU until the answer, µs': shown(samples.spread(way, database, CPU)),
            'times wide-cache': unlessHook(() =>
              shown(samples.ratio(way, WIDE_CACHE, database, CPU_WHOLE)),
            ),
            'statements per visit': unlessHook(() =>
              number(samples.spread(way, database, STATEMENTS).median),
            ),
          }
        }),
      )
      .filter((row, at) => at === 0 || row.way !== EMPTY_HOOK),
  ),
}
