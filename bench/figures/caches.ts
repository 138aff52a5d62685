/** Figures of the site on memcached and on Redis: the part `caches`. */
import { ROWS, shown } from '../parts/caches.js'
import type { Figures } from './measured.js'

export const caches: Figures = (read) => {
  const { samples } = read('caches')
  return {
    rows: ROWS.map(([measure, setting, metric]) => ({
      measure,
      memcached: shown(samples.spread('memcached', setting, metric)),
      Redis: shown(samples.spread('Redis', setting, metric)),
      'Redis / memcached': shown(samples.ratio('Redis', 'memcached', setting, metric)),
    })),
  }
}
