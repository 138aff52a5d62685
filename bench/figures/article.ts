/** Figures of the article that began all, beside those of this machine: the part `article`. */
import { CONTENDERS, NONE, OTHERS } from '../article/contenders.js'
import { sum } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import { FIRST_WIDTH } from '../loss/batches.js'
import { LATE, LATEST, LOST, OTHERS_COUNTED, SERVED, THROUGHPUT } from '../parts/article.js'
import { lostOf } from './losses.js'
import { share, shown, type Tables } from './measured.js'

const ALL = CONTENDERS[0]!.inArticle!.throughput

export const tables: Tables = {
  article: (read) => {
    const { samples } = read('article')
    const rows = CONTENDERS.map((contender) => {
      const { label, inArticle, asArticle } = contender
      const counts = (text: () => string): string => (contender === NONE ? '' : text())
      return {
        'how activity is kept': label,
        'the article, requests/s': inArticle ? String(inArticle.throughput) : '',
        'here, requests/s': shown(samples.spread(label, '', THROUGHPUT)),
        'the article, %': inArticle ? number(Math.round((100 * inArticle.throughput) / ALL)) : '',
        'here, %': share(samples.ratio(label, NONE.label, '', THROUGHPUT)),
        'the article lost': inArticle?.lost ?? '',
        'lost here': counts(() =>
          asArticle === undefined
            ? [LOST, SERVED].map((of) => number(sum(samples.of(label, '', of)))).join(' of ')
            : lostOf(read('loss'), asArticle, [`35/s, width ${FIRST_WIDTH}`]),
        ),
        'in SQL after, s: p50, max': counts(() =>
          [LATE, LATEST].map((of) => number(samples.spread(label, '', of).median)).join(', '),
        ),
        [`counts of ${OTHERS.length} requests that are no page views`]: counts(() =>
          shown(samples.spread(label, '', OTHERS_COUNTED)),
        ),
      }
    })
    return { rows }
  },
}
