/** Figures of the site on memcached and on Redis: the part `caches`. */
import type { Metric } from '../harness/samples.js'
import { CPU, DRAIN, FAULTS, MEDIAN, MEMCACHED, P95, RECOVERY, REDIS } from '../parts/caches.js'
import { type Figures, shown } from './measured.js'

const ROWS: readonly (readonly [row: string, setting: string, metric: Metric])[] = [
  ['CPU time of a visit until it is in the cache, µs', '', CPU],
  ['rows/s of a drain', '', DRAIN],
  ['from record() to the figures, half of the visits, s', '', MEDIAN],
  ['from record() to the figures, 95 % of them, s', '', P95],
  ...FAULTS.map((fault) => [`${fault}: until all is in SQL, s`, fault, RECOVERY] as const),
]

export const caches: Figures = (read) => {
  const { samples } = read('caches')
  return {
    rows: ROWS.map(([measure, setting, metric]) => ({
      measure,
      [MEMCACHED]: shown(samples.spread(MEMCACHED, setting, metric)),
      [REDIS]: shown(samples.spread(REDIS, setting, metric)),
      'Redis / memcached': shown(samples.ratio(REDIS, MEMCACHED, setting, metric)),
    })),
  }
}
