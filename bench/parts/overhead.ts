/**
 * What tracking costs a busy Express site, and what its visitors feel of it: under full load, on
 * one process and on a cluster, a page that costs nothing and one that costs 2 ms; at a modest
 * rate, with cache and database away. Targets are those of the project's first issue about cost.
 */
import { CASES, DOWN, outages, TWIN, WELL } from '../overhead/outages.js'
import { renderingsIn } from '../overhead/page.js'
import {
  APPEND,
  CONNECTIONS,
  type Contender,
  CONTENDERS,
  CPU,
  CPU_WHOLE,
  EMPTY_HOOK,
  INSERT,
  NOTHING,
  ORIGINAL,
  P50,
  P99,
  RATE,
  throughput,
  WIDE_CACHE,
} from '../overhead/throughput.js'
import type { Bench, Metric, Part, Report } from '../harness/part.js'
import type { Spread } from '../harness/statistics.js'
import { number, percent, type Table, withSpread } from '../harness/table.js'

const HELLO = { name: 'hello', path: '/', warmUp: 0.85 } as const
/**
 * Computed, as a forum's pages are: it is for the CPU that tracking competes with a page, not for
 * its waiting.
 */
const PAGE = { name: '2 ms page', path: '/page', warmUp: 0.15 } as const
const PAGE_MS = 2
/** `normal`: rounds of that mode, most where the targets are. */
const SIZES = [
  { name: '1 process', processes: 1, normal: { '/': 16, '/page': 3 } },
  { name: 'cluster of 2', processes: 2, normal: { '/': 8, '/page': 3 } },
] as const
const BUSY = `${HELLO.name}, ${SIZES[0].name}`

export const part: Part = {
  name: 'overhead',
  question: 'What does tracking cost a request, and what does a visitor feel of it?',
  run,
}

async function run(bench: Bench): Promise<Report> {
  const renderings = renderingsIn(PAGE_MS)
  bench.setting(
    '2 ms page: computes for 2 ms, waits for nothing; renderings of a thread of 20 posts',
    { quick: renderings, normal: renderings },
  )
  bench.setting('connections under full load', { quick: CONNECTIONS, normal: CONNECTIONS })
  const warmUpSeconds = bench.setting('warm-up, seconds a contender', {
    quick: 0.1,
    normal: 2,
    full: 10,
  })
  const seconds = bench.setting('seconds a round', { quick: 0.1, normal: 0.5, full: 3 })
  const mariadb = await bench.mariadb()

  for (const { name, processes, normal } of SIZES) {
    const pages = [HELLO, PAGE].map((page) => ({
      ...page,
      seconds,
      rounds: bench.setting(`rounds of ${page.name}, ${name}`, {
        quick: 1,
        normal: normal[page.path],
        full: 20,
      }),
    }))
    await throughput(bench, mariadb, { name, processes, renderings, warmUpSeconds, pages })
  }
  const rate = bench.setting('fixed rate: requests/s to each site', { quick: 50, normal: 80 })
  const paced = `${HELLO.name} at ${rate}/s`
  await outages(bench, mariadb, {
    setting: paced,
    rate,
    rounds: bench.setting('fixed rate: rounds', { quick: 2, normal: 16, full: 40 }),
    seconds: bench.setting('fixed rate: seconds a round', { quick: 1, normal: 1.5, full: 6 }),
    warmUpSeconds: bench.setting('fixed rate: warm-up, seconds', { quick: 0.5, normal: 4 }),
  })

  // Rounds of a tenth of a second show that it runs, and nothing else.
  if (bench.mode !== 'quick') {
    claimCost(bench)
    claimCalm(bench, paced)
  }
  const settings = [HELLO, PAGE].flatMap((page) => SIZES.map(({ name }) => `${page.name}, ${name}`))
  return {
    tables: [...settings.map((setting) => busyTable(bench, setting)), calmTable(bench, paced)],
    chart: {
      kind: 'bars',
      title: 'Throughput that tracking leaves, of no middleware: more is better',
      y: { name: '% of no middleware' },
      groups: settings,
      bars: CONTENDERS.filter((contender) => contender !== NOTHING).map(({ label }) => ({
        name: label.replaceAll('`', ''),
        values: settings.map((setting) => {
          const { median, low, high } = bench.samples.ratio(label, NOTHING.label, setting, RATE)
          return { median: 100 * median, low: 100 * low, high: 100 * high }
        }),
      })),
    },
  }
}

/** The targets of the issue: for hello, on one process. */
function claimCost({ claim, samples }: Bench): void {
  const kept = (other: Contender): number =>
    samples.ratio(WIDE_CACHE.label, other.label, BUSY, RATE).median
  claim(
    `${BUSY}: wide-cache keeps at least 97 % of an empty hook's throughput (here ` +
      `${percent(kept(EMPTY_HOOK))})`,
    kept(EMPTY_HOOK) >= 0.97,
  )
  claim(
    `${BUSY}: and at least 94 % of that of no middleware (here ${percent(kept(NOTHING))})`,
    kept(NOTHING) >= 0.94,
  )
  for (const other of [INSERT, ORIGINAL]) {
    claim(
      `${BUSY}: at least 1.5 times the throughput of ${other.label.slice(4)} (here ` +
        `${number(kept(other))})`,
      kept(other) >= 1.5,
    )
  }
}

/**
 * Noise is how far two sites differ that are well, either from the other: the same program, servers
 * and moments.
 */
function claimCalm({ claim, samples }: Bench, setting: string): void {
  const noise = samples.ratio(TWIN.label, WELL.label, setting, P99)
  const most = Math.max(noise.high, 1 / noise.low)
  for (const { label } of DOWN) {
    const ratio = samples.ratio(label, WELL.label, setting, P99)
    claim(
      `${setting}, ${label.slice(4)}: p99 is ${withSpread(ratio)} of that of a site that is ` +
        `well, within the noise (a second one that is well has ${withSpread(noise)})`,
      ratio.median <= most,
    )
  }
}

function busyTable({ samples }: Bench, setting: string): Table {
  const rows = CONTENDERS.map((contender) => {
    const shown = (metric: Metric): string =>
      withSpread(samples.spread(contender.label, setting, metric))
    const of = (other: Contender): string =>
      contender === other ? '' : shares(samples.ratio(contender.label, other.label, setting, RATE))
    return {
      contender: contender.label,
      'requests/s': shown(RATE),
      '% of (a)': of(NOTHING),
      '% of (b)': contender === NOTHING ? '' : of(EMPTY_HOOK),
      'CPU µs/request': shown(CPU),
      // What only lies in cells has not come to SQL.
      '… and until in SQL': contender === ORIGINAL || contender === APPEND ? '' : shown(CPU_WHOLE),
      'p50 ms': shown(P50),
      'p99 ms': shown(P99),
    }
  })
  return { title: `Full load: ${setting}`, rows }
}

function calmTable({ samples }: Bench, setting: string): Table {
  const rows = CASES.map(({ label }) => ({
    site: label,
    'p50 ms': withSpread(samples.spread(label, setting, P50)),
    'p99 ms': withSpread(samples.spread(label, setting, P99)),
    'p99 over that of (c)':
      label === WELL.label ? '' : withSpread(samples.ratio(label, WELL.label, setting, P99)),
    'CPU µs/request': withSpread(samples.spread(label, setting, CPU_WHOLE)),
  }))
  return {
    title: `A fixed rate, all sites side by side, each collecting by itself: ${setting}`,
    rows,
  }
}

/** `93 (91-96)` of 0.93: percent. */
function shares({ median, low, high }: Spread): string {
  return withSpread({ median: 100 * median, low: 100 * low, high: 100 * high })
}
