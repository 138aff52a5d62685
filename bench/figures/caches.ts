/** Figures of the site on memcached and on Redis: the part `caches`. */
import { withSpread } from '../harness/table.js'
import { ROWS } from '../parts/caches.js'
import type { Figures } from './measured.js'

export const caches: Figures = (read) => {
  const { samples } = read('caches')
  const shown = (label: string, [, setting, metric]: (typeof ROWS)[number]): string =>
    withSpread(samples.spread(label, setting, metric))
  return {
    rows: ROWS.map((row) => ({
      measure: row[0],
      memcached: shown('memcached', row),
      Redis: shown('Redis', row),
      'Redis / memcached': withSpread(samples.ratio('Redis', 'memcached', row[1], row[2])),
    })),
  }
}
