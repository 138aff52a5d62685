/**
 * The article that began all, on this machine: what a site of one process that computes a page of
 * 25 ms serves, by how its activity is kept, and what is lost; and its other approach, which reads
 * the log of the web server.
 */
import { ensureBinaries } from '../../test/servers/binaries.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { NONE, OTHERS, WIDE_CACHE } from '../article/contenders.js'
import { roundOf } from '../article/round.js'
import { divideCores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { percent } from '../harness/table.js'
import { renderingsIn } from '../overhead/page.js'
import { less, more, neutral } from '../harness/samples.js'

export const THROUGHPUT = more('requests/s')
export const SERVED = neutral('visits')
export const LOST = less('visits lost')
export const LATE = less('p50 s until in SQL')
export const LATEST = less('max s until in SQL')
/** What is no page view of a person. */
export const OTHERS_COUNTED = less(`of ${OTHERS.length} other requests, counted`)

/** The article's site served 40.2 a second. */
const PAGE_MS = 25
/** The article's wide cache kept 36.7 of 40.2. */
const LEAST = 36.7 / 40.2

export async function run(bench: Bench): Promise<undefined> {
  ensureBinaries(['nginx'])
  const { text, alone } = divideCores()
  bench.setting('cores', text)
  const rounds = bench.setting('rounds: a process of each contender', 1, 3, 10)
  const laps = bench.setting('laps of a round', 1, 6, 60)
  const seconds = bench.setting('seconds of each in a lap', 1, 2, 3)
  const renderings = renderingsIn(bench.setting('ms of a page', 5, PAGE_MS))
  const folder = temporaryFolder('article')
  bench.after(() => removeFolder(folder))
  const [mariadb, memcached] = await Promise.all([
    bench.mariadb(['--innodb-flush-log-at-trx-commit=1']),
    bench.memcached(),
  ])
  const setup = { bench, mariadb, memcached, folder, renderings, laps, seconds, alone }
  const { samples } = bench
  for (let round = 0; round < rounds; round++) {
    bench.progress(`round ${round + 1} of ${rounds}`)
    for (const outcome of await roundOf(setup, `article_${round}`)) {
      const { contender, perSecond, served, counted, others, late } = outcome
      const add = samples.add.bind(samples, contender.label, '')
      add(THROUGHPUT, perSecond)
      if (contender === NONE) continue
      add(SERVED, served)
      add(LOST, served - counted)
      add(OTHERS_COUNTED, others)
      add(LATE, quantile(late, 0.5) / 1000)
      add(LATEST, Math.max(...late) / 1000)
    }
  }
  bench.claim(
    'wide-cache loses no visit and counts none twice',
    samples.of(WIDE_CACHE.label, '', LOST).every((lost) => lost === 0),
  )
  const share = samples.ratio(WIDE_CACHE.label, NONE.label, '', THROUGHPUT).median
  if (bench.mode !== 'quick') {
    bench.claim(
      `wide-cache keeps at least the ${percent(LEAST)} of the throughput that the article's ` +
        `kept (here ${percent(share)})`,
      share >= LEAST,
    )
  }
  return undefined
}
