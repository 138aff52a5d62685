/**
 * Costs of tracking for a busy Express site, and the waits of its visitors: under full load, a page
 * that costs nothing and one that costs 2 ms; at a modest rate, with cache and database away. The
 * site has a core for itself. Targets are those of the project's issues about cost.
 */
import { DOWN, outages, REPEATED, WELL } from '../overhead/outages.js'
import * as load from '../overhead/full-load.js'
import type { Crowd } from '../overhead/load.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { renderingsIn } from '../overhead/page.js'
import * as contenders from '../overhead/contenders.js'
import { P99 } from '../harness/samples.js'
import { type Bar, barChart, type Chart } from '../harness/chart.js'
import { divideCores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { interval, median, type Spread } from '../harness/statistics.js'
import { costText, number, percent, withSpread } from '../harness/table.js'

const { AT_RATES, COLLECTS, CONTENDERS, EMPTY_HOOK, INSERT, NOTHING, ON_A_PAGE } = contenders
const { OVER_HOOK, SAME_RULES, THROUGHPUT, WIDE_CACHE } = contenders
type Contender = contenders.Contender

/** Of processes that have served many requests. The targets are for these. */
export const FULL_LOAD = 'full load'
/** And of the first requests of a process. */
export const YOUNG = 'full load, the first requests'
/**
 * Computed, as a forum's pages are: it is for the CPU that tracking competes with a page, not for
 * its waiting. So few of them are served that only large costs are seen.
 */
export const PAGE = '2 ms page'
const PAGE_MS = 2
/** CPU time that wide-cache may take for each request, over a hook that does nothing. */
const MOST_MICROSECONDS = 5
const MOST_COLLECTING = 15
/** Greatest distance of an end of the interval from the cost, µs. */
const MOST_ERROR = 2

export async function run(bench: Bench): Promise<Chart> {
  const renderings = renderingsIn(PAGE_MS)
  bench.setting(
    '2 ms page: computes for 2 ms, waits for nothing; renderings of a thread of 20 posts',
    renderings,
  )
  const { text, alone } = divideCores()
  bench.setting('cores', text)
  bench.setting('connections under full load', load.CONNECTIONS)
  const rounds = bench.setting('rounds: a process of each contender', 1, 3, 8)
  const young = bench.setting('full load: first requests', 100, 1_500)
  const served = bench.setting('full load: requests served before', 100, 20_000)
  const runs = bench.setting('runs of the collector before', 2, 300)
  const laps = bench.setting('full load: laps of a round', 1, 2)
  const lead = bench.setting('full load: seconds before, in a lap', 0.1, 2)
  const seconds = bench.setting('full load: seconds of each in a lap', 0.3, 4)
  const rates = bench.setting('requests/s to each site', [50], [300, 80, 20, 5])
  const paced = bench.setting('seconds at these rates', [1], [15, 30, 60, 60])
  const leads = bench.setting('seconds before, at each', [0], [5, 5, 30, 10])
  const [mariadb, memcached, redis] = await Promise.all([
    bench.mariadb(),
    bench.memcached(),
    bench.redis(),
  ])
  const folder = temporaryFolder('logs')
  bench.after(() => removeFolder(folder))
  const setup = { bench, mariadb, memcached, redis, folder, renderings, alone }
  for (let round = 0; round < rounds; round++) {
    const progress = (what: string): void =>
      bench.progress(`round ${round + 1} of ${rounds}: ${what}`)
    progress('starting')
    const running: load.Running[] = []
    for (const [at, contender] of CONTENDERS.entries()) {
      running.push(await load.start(setup, contender, `overhead_${round}_${at}`))
    }
    progress(YOUNG)
    const first = { laps: 1, load: (crowd: Crowd) => crowd.ask('/', young) }
    await load.byTurns(setup, running, YOUNG, first)
    for (const { app, crowd } of running) {
      await crowd.ask('/', served)
      await app.finish()
    }
    progress('the collector as old as the site')
    const atRates = running.filter(({ contender }) => AT_RATES.includes(contender))
    await load.collectOften(atRates, runs)
    progress(FULL_LOAD)
    const loaded = (path: string, time: number) => (crowd: Crowd) => crowd.run(path, time)
    const hello = { laps, before: loaded('/', lead), load: loaded('/', seconds) }
    await load.byTurns(setup, running, FULL_LOAD, hello)
    progress(PAGE)
    const onPage = running.filter(({ contender }) => ON_A_PAGE.includes(contender))
    const page = { laps: 1, before: loaded('/page', lead), load: loaded('/page', seconds) }
    await load.byTurns(setup, onPage, PAGE, page)
    for (const one of running) if (!atRates.includes(one)) await load.stop(one)
    for (const [at, rate] of rates.entries()) {
      progress(atRate(rate))
      const times = { before: leads[at]!, seconds: paced[at]! }
      await load.atOnce(setup, atRates, atRate(rate), rate, times)
    }
    for (const one of atRates) await load.stop(one)
  }
  const rate = bench.setting('fixed rate: requests/s to each site', 50, 80)
  const fixed = `fixed rate, ${atRate(rate)}`
  await outages(bench, mariadb, {
    setting: fixed,
    rate,
    rounds: bench.setting('fixed rate: rounds', 2, 16, 40),
    seconds: bench.setting('fixed rate: seconds a round', 1, 1.5, 6),
    warmUpSeconds: bench.setting('fixed rate: warm-up, seconds', 0.5, 4),
    alone,
  })

  // Rounds of a tenth of a second show that it runs, and nothing else.
  if (bench.mode !== 'quick') {
    claimCost(bench)
    claimThroughput(bench)
    claimOutages(bench, fixed)
    claimRates(bench, rates)
  }
  return barChart(
    'CPU that the site takes for each request, over a hook that does nothing',
    'µs',
    CONTENDERS.filter((each) => each !== EMPTY_HOOK && each !== NOTHING).map(({ label }) =>
      costBar(label, over(bench, label, FULL_LOAD)),
    ),
  )
}

/** A cost of less than nothing is noise. */
function costBar(label: string, { median, low, high }: Spread): Bar {
  return {
    name: label.replaceAll('`', ''),
    value: Math.max(0, median),
    low: Math.max(0, low),
    high: Math.max(0, high),
    said: costText({ median, low, high }),
  }
}

export function atRate(rate: number): string {
  return `${rate}/s`
}

function over({ samples }: Bench, label: string, setting: string): Spread {
  return interval(samples.of(label, setting, OVER_HOOK))
}

/** CPU, for hello. */
function claimCost(bench: Bench): void {
  const ours = over(bench, WIDE_CACHE.label, FULL_LOAD)
  const claim = (text: string, here: string, holds: boolean): void =>
    bench.claim(`${FULL_LOAD}: ${text} (here ${here} µs)`, holds)
  for (const { label, collect } of [WIDE_CACHE, COLLECTS]) {
    const most = collect === undefined ? MOST_MICROSECONDS : MOST_COLLECTING
    const cost = over(bench, label, FULL_LOAD)
    const text = `${label} takes at most ${most} µs of CPU a request over an empty hook`
    claim(text, withSpread(cost), cost.median <= most)
  }
  for (const { label } of contenders.ACCEPTED) {
    const theirs = over(bench, label, FULL_LOAD)
    claim(`wide-cache takes less than ${label}`, withSpread(theirs), ours.median < theirs.median)
  }
  const most = Math.max(ours.high - ours.median, ours.median - ours.low)
  claim(
    `the cost of wide-cache is known to ${MOST_ERROR} µs, with 95 % confidence`,
    `to ${number(Number(most.toPrecision(3)))}`,
    most <= MOST_ERROR,
  )
}

/** For hello. */
function claimThroughput({ claim, samples }: Bench): void {
  const ofHook = ({ label }: Contender): number => median(samples.of(label, FULL_LOAD, THROUGHPUT))
  const ours = ofHook(WIDE_CACHE)
  const least = (text: string, ratio: number, least: number, show = percent): void =>
    claim(`${FULL_LOAD}: ${text} (here ${show(ratio)})`, ratio >= least)
  least("wide-cache keeps at least 97 % of an empty hook's throughput", ours, 0.97)
  least('and at least 94 % of that of no middleware', ours / ofHook(NOTHING), 0.94)
  for (const other of [INSERT, contenders.GET_AND_SET]) {
    const text = `at least 1.5 times the throughput of ${other.label}`
    least(text, ours / ofHook(other), 1.5, number)
  }
}

/**
 * Noise is how far two healthy sites differ, either from the other: the same program, servers and
 * moments.
 */
function claimOutages({ claim, samples }: Bench, setting: string): void {
  const noise = samples.ratio(REPEATED.label, WELL.label, setting, P99)
  const most = Math.max(noise.high, 1 / noise.low)
  for (const { label } of DOWN) {
    const ratio = samples.ratio(label, WELL.label, setting, P99)
    claim(
      `${setting}, ${label}: p99 is ${withSpread(ratio)} of that of a healthy site, ` +
        `within the noise (a second healthy one has ${withSpread(noise)})`,
      ratio.median <= most,
    )
  }
}

/** Targets of the project's issue about wake-ups. */
function claimRates(bench: Bench, rates: readonly number[]): void {
  const { claim, samples } = bench
  const most = (ours: Contender, other: Contender, setting: string, times: number): void => {
    const ratio = samples.ratio(ours.label, other.label, setting, OVER_HOOK)
    claim(
      `${setting}: ${ours.label} takes at most ${times} times what ` +
        `${other.label} takes (here ${withSpread(ratio)})`,
      ratio.median <= times,
    )
  }
  most(WIDE_CACHE, SAME_RULES, FULL_LOAD, 1)
  most(COLLECTS, SAME_RULES, FULL_LOAD, 1.3)
  for (const rate of rates) most(COLLECTS, INSERT, atRate(rate), rate >= 20 ? 0.5 : 1)
  for (const setting of [FULL_LOAD, ...rates.map(atRate)]) {
    const ratio = samples.ratio(COLLECTS.label, EMPTY_HOOK.label, setting, P99)
    claim(
      `${setting}: p99 of the page is that of an empty hook (here ${withSpread(ratio)} times)`,
      ratio.low <= 1,
    )
  }
}
