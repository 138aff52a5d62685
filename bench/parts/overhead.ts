/**
 * Costs of tracking for a busy Express site, and the waits of its visitors: under full load, a page
 * that costs nothing and one that costs 2 ms; at a modest rate, with cache and database away. The
 * site has a core for itself. Targets are those of the project's issues about cost.
 */
import { CASES, DOWN, outages, REPEATED, WELL } from '../overhead/outages.js'
import { renderingsIn } from '../overhead/page.js'
import {
  ACCEPTED,
  APPEND,
  CONNECTIONS,
  type Contender,
  CONTENDERS,
  CPU,
  CPU_WHOLE,
  EMPTY_HOOK,
  INSERT,
  NOTHING,
  GET_AND_SET,
  P50,
  P99,
  RATE,
  throughput,
  WIDE_CACHE,
} from '../overhead/throughput.js'
import { divideCores } from '../harness/cores.js'
import type { Bench, Metric, Part, Report } from '../harness/part.js'
import type { Spread } from '../harness/statistics.js'
import { number, percent, type Table, withSpread } from '../harness/table.js'

/** The longer a round, the steadier; the targets are for this page. */
const HELLO = {
  name: 'hello',
  path: '/',
  warmUp: 0.85,
  seconds: 0.5,
  closely: 9,
  rounds: 9,
} as const
/**
 * Computed, as a forum's pages are: it is for the CPU that tracking competes with a page, not for
 * its waiting.
 */
const PAGE = {
  name: '2 ms page',
  path: '/page',
  warmUp: 0.15,
  seconds: 0.5,
  closely: 1,
  rounds: 3,
} as const
const PAGE_MS = 2
const PAGES = [HELLO, PAGE] as const
/** CPU time that wide-cache may take for each request, over a hook that does nothing. */
const MOST_MICROSECONDS = 5
/** Greatest deviation of the middle half of the rounds, either way. */
const STEADY = 0.03

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
  const { text, alone } = divideCores()
  bench.setting('cores', { quick: text, normal: text })
  bench.setting('connections under full load', { quick: CONNECTIONS, normal: CONNECTIONS })
  const warmUpSeconds = bench.setting('warm-up, seconds a contender', {
    quick: 0.1,
    normal: 2,
    full: 10,
  })
  const slices = bench.setting('slices of a round, those of all contenders mixed', {
    quick: 1,
    normal: 3,
    full: 10,
  })
  const mariadb = await bench.mariadb()

  const pages = PAGES.map((page) => ({
    ...page,
    seconds: bench.setting(`seconds a round of ${page.name}`, {
      quick: 0.1,
      normal: page.seconds,
      full: 3,
    }),
    closely: bench.setting(`times as long for the hooks and wide-cache, ${page.name}`, {
      quick: 1,
      normal: page.closely,
    }),
    rounds: bench.setting(`rounds of ${page.name}`, {
      quick: 1,
      normal: page.rounds,
      full: 20,
    }),
  }))
  await throughput(bench, mariadb, { renderings, warmUpSeconds, slices, pages, alone })
  const rate = bench.setting('fixed rate: requests/s to each site', { quick: 50, normal: 80 })
  const paced = `${HELLO.name} at ${rate}/s`
  await outages(bench, mariadb, {
    setting: paced,
    rate,
    rounds: bench.setting('fixed rate: rounds', { quick: 2, normal: 16, full: 40 }),
    seconds: bench.setting('fixed rate: seconds a round', { quick: 1, normal: 1.5, full: 6 }),
    warmUpSeconds: bench.setting('fixed rate: warm-up, seconds', { quick: 0.5, normal: 4 }),
    alone,
  })

  // Rounds of a tenth of a second show that it runs, and nothing else.
  if (bench.mode !== 'quick') {
    claimCost(bench)
    claimThroughput(bench)
    claimCalm(bench, paced)
  }
  const settings = PAGES.map(({ name }) => name)
  return {
    tables: [...settings.map((setting) => busyTable(bench, setting)), calmTable(bench, paced)],
    chart: {
      type: 'bars',
      title: 'CPU of the site for each request: less is better',
      y: { name: 'µs' },
      groups: CONTENDERS.map(({ label }) => label.slice(4).replaceAll('`', '')),
      bars: [
        {
          name: HELLO.name,
          values: CONTENDERS.map(({ label }) => bench.samples.spread(label, HELLO.name, CPU)),
        },
      ],
    },
  }
}

/** CPU, for hello. */
function claimCost({ claim, samples }: Bench): void {
  const over = ({ label }: Contender): Spread =>
    samples.difference(label, EMPTY_HOOK.label, HELLO.name, CPU)
  const ours = over(WIDE_CACHE)
  claim(
    `${HELLO.name}: wide-cache takes at most ${MOST_MICROSECONDS} µs of CPU a request over an ` +
      `empty hook (here ${withSpread(ours)} µs)`,
    ours.median <= MOST_MICROSECONDS,
  )
  for (const other of ACCEPTED) {
    const theirs = over(other)
    claim(
      `${HELLO.name}: and less than ${other.label.slice(4)} (here ${withSpread(theirs)} µs)`,
      ours.median < theirs.median,
    )
  }
  const { median, low, high } = samples.ratio(WIDE_CACHE.label, EMPTY_HOOK.label, HELLO.name, CPU)
  const most = Math.max(high / median - 1, 1 - low / median)
  claim(
    `${HELLO.name}: the middle half of the rounds lies within ${percent(STEADY)} of the median, ` +
      `of wide-cache's CPU over the hook's (here ${percent(most)})`,
    most <= STEADY,
  )
}

/** Requests a second, for hello. */
function claimThroughput({ claim, samples }: Bench): void {
  const kept = (other: Contender): number =>
    samples.ratio(WIDE_CACHE.label, other.label, HELLO.name, RATE).median
  claim(
    `${HELLO.name}: wide-cache keeps at least 97 % of an empty hook's throughput (here ` +
      `${percent(kept(EMPTY_HOOK))})`,
    kept(EMPTY_HOOK) >= 0.97,
  )
  claim(
    `${HELLO.name}: and at least 94 % of that of no middleware (here ${percent(kept(NOTHING))})`,
    kept(NOTHING) >= 0.94,
  )
  for (const other of [INSERT, GET_AND_SET]) {
    claim(
      `${HELLO.name}: at least 1.5 times the throughput of ${other.label.slice(4)} (here ` +
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
  const noise = samples.ratio(REPEATED.label, WELL.label, setting, P99)
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
    const { label } = contender
    const shown = (metric: Metric): string => withSpread(samples.spread(label, setting, metric))
    const of = (other: Contender): string =>
      contender === other ? '' : shares(samples.ratio(label, other.label, setting, RATE))
    return {
      contender: label,
      'CPU µs/request': shown(CPU),
      '… over (b)': withSpread(samples.difference(label, EMPTY_HOOK.label, setting, CPU)),
      // What only lies in cells has not come to SQL.
      '… and until in SQL':
        contender === GET_AND_SET || contender === APPEND ? '' : shown(CPU_WHOLE),
      'requests/s': shown(RATE),
      '% of (a)': of(NOTHING),
      '% of (b)': contender === NOTHING ? '' : of(EMPTY_HOOK),
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
