/** Figures of the site on memcached and on Redis: the part `caches`. */
import { CPU, DRAIN, FAULTS, MEDIAN, MEMCACHED, P95, RECOVERY, REDIS } from '../parts/caches.js'
import { sideBySide, type Tables } from './measured.js'

export const tables: Tables = {
  caches: sideBySide(
    'caches',
    [MEMCACHED, REDIS],
    [
      ['CPU time of a visit until it is in the cache, µs', '', CPU],
      ['rows/s of a drain', '', DRAIN],
      ['from record() to the figures, half of the visits, s', '', MEDIAN],
      ['from record() to the figures, 95 % of them, s', '', P95],
      ...FAULTS.map((fault) => [`${fault}: until all is in SQL, s`, fault, RECOVERY] as const),
    ],
  ),
}
