/**
 * Costs of tracking for a busy Express site, and the waits of its visitors: under full load, a page
 * that costs nothing and one that costs 2 ms; at a modest rate, with cache and database away. The
 * site has a core for itself. Targets are those of the project's issues about cost.
 */
import { DOWN, outages, REPEATED, WELL } from '../overhead/outages.js'
import { CONNECTIONS, fullLoad, type Page } from '../overhead/full-load.js'
import { renderingsIn } from '../overhead/page.js'
import {
  ACCEPTED,
  COLLECTS,
  type Contender,
  CONTENDERS,
  EMPTY_HOOK,
  GET_AND_SET,
  INSERT,
  NOTHING,
  ON_A_PAGE,
  OVER_HOOK,
  P99,
  THROUGHPUT,
  WIDE_CACHE,
} from '../overhead/contenders.js'
import type { Bar } from '../harness/chart.js'
import { divideCores } from '../harness/cores.js'
import type { Bench, Part, Report } from '../harness/part.js'
import { interval, median, type Spread } from '../harness/statistics.js'
import { costText, number, percent, withSpread } from '../harness/table.js'

/** The targets are for this page. */
const HELLO: Page = {
  name: 'hello',
  path: '/',
  contenders: CONTENDERS,
  warmUpSeconds: 3,
  seconds: 1.5,
}
/**
 * Computed, as a forum's pages are: it is for the CPU that tracking competes with a page, not for
 * its waiting. So few of them are served that only large costs are seen.
 */
const PAGE: Page = {
  name: '2 ms page',
  path: '/page',
  contenders: ON_A_PAGE,
  warmUpSeconds: 0.3,
  seconds: 1.5,
}
const PAGE_MS = 2
const PAGES = [HELLO, PAGE] as const
/** CPU time that wide-cache may take for each request, over a hook that does nothing. */
const MOST_MICROSECONDS = 5
const MOST_COLLECTING = 15
/** Greatest distance of an end of the interval from the cost, µs. */
const STEADY = 2

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
  const rounds = bench.setting('rounds: pairs of processes of each contender', {
    quick: 1,
    normal: 20,
  })
  const mariadb = await bench.mariadb()
  const pages = PAGES.map((page) => ({
    ...page,
    warmUpSeconds: bench.setting(`${page.name}: warm-up, seconds of each process`, {
      quick: 0.1,
      normal: page.warmUpSeconds,
    }),
    seconds: bench.setting(`${page.name}: seconds of each process`, {
      quick: 0.1,
      normal: page.seconds,
    }),
  }))
  await fullLoad(bench, mariadb, { renderings, rounds, pages, alone })
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
  return {
    chart: {
      type: 'bars',
      title: 'CPU that the site takes for each request, over a hook that does nothing',
      x: { name: 'µs' },
      groups: [
        {
          bars: CONTENDERS.filter((each) => each !== EMPTY_HOOK && each !== NOTHING).map(
            ({ label }) => costBar(label, over(bench, label, HELLO.name)),
          ),
        },
      ],
    },
  }
}

/** A cost of less than nothing is noise. */
function costBar(label: string, { median, low, high }: Spread): Bar {
  return {
    name: label.slice(4).replaceAll('`', ''),
    value: Math.max(0, median),
    low: Math.max(0, low),
    high: Math.max(0, high),
    said: costText({ median, low, high }),
  }
}

function over({ samples }: Bench, label: string, setting: string): Spread {
  return interval(samples.of(label, setting, OVER_HOOK))
}

/** CPU, for hello. */
function claimCost(bench: Bench): void {
  const { claim } = bench
  const ours = over(bench, WIDE_CACHE.label, HELLO.name)
  for (const [contender, most] of [
    [WIDE_CACHE, MOST_MICROSECONDS],
    [COLLECTS, MOST_COLLECTING],
  ] as const) {
    const cost = over(bench, contender.label, HELLO.name)
    claim(
      `${HELLO.name}: ${contender.label.slice(4)} takes at most ${most} µs of CPU a request over ` +
        `an empty hook (here ${withSpread(cost)} µs)`,
      cost.median <= most,
    )
  }
  for (const other of ACCEPTED) {
    const theirs = over(bench, other.label, HELLO.name)
    claim(
      `${HELLO.name}: wide-cache takes less than ${other.label.slice(4)} (here ` +
        `${withSpread(theirs)} µs)`,
      ours.median < theirs.median,
    )
  }
  const most = Math.max(ours.high - ours.median, ours.median - ours.low)
  claim(
    `${HELLO.name}: the cost of wide-cache is known to ${STEADY} µs, with 95 % confidence (here ` +
      `to ${number(Number(most.toPrecision(3)))} µs)`,
    most <= STEADY,
  )
}

/** For hello. */
function claimThroughput({ claim, samples }: Bench): void {
  const ofHook = ({ label }: Contender): number => median(samples.of(label, HELLO.name, THROUGHPUT))
  const ours = ofHook(WIDE_CACHE)
  claim(
    `${HELLO.name}: wide-cache keeps at least 97 % of an empty hook's throughput (here ` +
      `${percent(ours)})`,
    ours >= 0.97,
  )
  const ofNothing = ours / ofHook(NOTHING)
  claim(
    `${HELLO.name}: and at least 94 % of that of no middleware (here ${percent(ofNothing)})`,
    ofNothing >= 0.94,
  )
  for (const other of [INSERT, GET_AND_SET]) {
    const ratio = ours / ofHook(other)
    claim(
      `${HELLO.name}: at least 1.5 times the throughput of ${other.label.slice(4)} (here ` +
        `${number(ratio)})`,
      ratio >= 1.5,
    )
  }
}

/**
 * Noise is how far two healthy sites differ, either from the other: the same program, servers and
 * moments.
 */
function claimCalm({ claim, samples }: Bench, setting: string): void {
  const noise = samples.ratio(REPEATED.label, WELL.label, setting, P99)
  const most = Math.max(noise.high, 1 / noise.low)
  for (const { label } of DOWN) {
    const ratio = samples.ratio(label, WELL.label, setting, P99)
    claim(
      `${setting}, ${label.slice(4)}: p99 is ${withSpread(ratio)} of that of a healthy site, ` +
        `within the noise (a second healthy one has ${withSpread(noise)})`,
      ratio.median <= most,
    )
  }
}
