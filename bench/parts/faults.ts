/**
 * Losses, repeats and the time to catch up when servers and processes fail: each fault is a
 * timeline of its own, in which all contenders live side by side on the same servers.
 */
import { ensureBinaries } from '../../test/servers/binaries.js'
import { bound, ofLiving } from '../faults/bound.js'
import { CONTENDERS, type Contender, WIDE_CACHE } from '../faults/contenders.js'
import { type Fault, FAULTS, NOTHING } from '../faults/faults.js'
import { bounds, forLong, recordLiving } from '../faults/long.js'
import { type Outcome } from '../faults/site.js'
import { type Result, type Settings, timeline } from '../faults/timeline.js'
import type { BarChart } from '../harness/chart.js'
import { versions } from '../harness/machine.js'
import type { Bench, Part } from '../harness/part.js'
import { median, wilson } from '../harness/statistics.js'
import { number, type Table } from '../harness/table.js'

const DATABASE_OPTIONS = ['--max-connections=1000']
const QUICK_FAULTS = ['cache flushed', 'web process killed']

export const part: Part = {
  name: 'faults',
  question: 'what is lost, and what comes twice, when servers and processes fail?',
  async run(bench) {
    ensureBinaries(['redis'])
    const settings = settingsOf(bench)
    const rounds = bench.setting('rounds', { quick: 1, normal: 1 })
    const faults = FAULTS.filter(
      ({ name }) => bench.mode !== 'quick' || QUICK_FAULTS.includes(name),
    )
    const shared = await bench.mariadb(DATABASE_OPTIONS)
    bench.progress('warming up')
    // Not measured: in the first one servers and files are cold, of which who reads, adds and
    // writes would lose more.
    const { rest } = await timeline(bench, NOTHING, shared, 'warm', {
      ...settings,
      secondsAfter: 0,
      waitSeconds: { least: 0, most: 0 },
    })
    await rest
    const waiting: Promise<Result[]>[] = []
    for (let round = 0; round < rounds; round++) {
      for (const [at, fault] of faults.entries()) {
        bench.progress(
          `${fault.name} (${at + 1} of ${faults.length}, round ${round + 1} of ${rounds})`,
        )
        const mariadb = fault.ownDatabase ? await bench.mariadb(DATABASE_OPTIONS) : shared
        const { rest } = await timeline(bench, fault, mariadb, `r${round}f${at}`, settings)
        // A failure is thrown where all are awaited.
        rest.catch(() => undefined)
        waiting.push(rest)
      }
    }
    bench.progress('waiting for what is still on its way')
    const results = (await Promise.all(waiting)).flat()
    for (const result of results) record(bench, result)
    for (const fault of faults) claim(bench, fault, results)
    claimAll(bench, results)
    await forLong(bench, settings.options)
    return {
      tables: [
        bounds(bench),
        lost(faults, results),
        caughtUp(faults, results),
        asGood(faults, results),
        contenders(),
      ],
      chart: chart(faults, results),
    }
  },
}

function settingsOf(bench: Bench): Settings {
  // With the default of 60 s a flushed cache is caught up a minute later; 34 is the least that is
  // allowed beside the other defaults.
  const confirmSeconds = bench.setting('confirmSeconds of wide-cache', {
    quick: 34,
    normal: 34,
    full: 60,
  })
  const redis = `${versions(['redis'])['redis']}, appendonly yes, appendfsync everysec`
  bench.setting('Redis', { quick: redis, normal: redis })
  return {
    rate: bench.setting('visits/s of each contender', { quick: 100, normal: 200 }),
    secondsBefore: bench.setting('seconds before the fault', { quick: 2, normal: 4, full: 15 }),
    secondsAfter: bench.setting('seconds after the fault', { quick: 1, normal: 3, full: 15 }),
    waitSeconds: {
      least: bench.setting('least seconds waited after the last visit', {
        quick: 1,
        normal: 11,
        full: 30,
      }),
      // After that the processes are closed, which brings the rest at once.
      most: bench.setting('most seconds waited after the last visit', {
        quick: 1,
        normal: 45,
        full: 90,
      }),
    },
    options: { collect: false, confirmSeconds },
  }
}

function of(results: readonly Result[], fault: Fault, contender: Contender): Result[] {
  return results.filter((result) => result.fault === fault && result.contender === contender)
}

function total(results: readonly Result[]): Omit<Outcome, 'killed'> {
  const sum = (key: Exclude<keyof Outcome, 'killed'>): number =>
    results.flatMap(({ processes }) => processes).reduce((all, one) => all + one[key], 0)
  return {
    recorded: sum('recorded'),
    lost: sum('lost'),
    duplicated: sum('duplicated'),
    holes: sum('holes'),
  }
}

function record(bench: Bench, result: Result): void {
  const { fault, contender, seconds } = result
  const { recorded, lost, duplicated } = total([result])
  const better = contender === WIDE_CACHE ? 'less' : null
  // What a killed process loses is a matter of chance.
  bench.samples.add(
    contender.label,
    fault.name,
    { metric: 'lost, % of recorded', better: fault.writersLive ? better : null },
    (lost / recorded) * 100,
  )
  bench.samples.add(
    contender.label,
    fault.name,
    { metric: 'duplicated, % of recorded', better },
    (duplicated / recorded) * 100,
  )
  bench.samples.add(
    contender.label,
    fault.name,
    { metric: 's until caught up', better: null },
    seconds,
  )
  if (contender === WIDE_CACHE) recordLiving(bench, contender.label, fault.name, result.processes)
}

function claim(bench: Bench, fault: Fault, results: readonly Result[]): void {
  const own = of(results, fault, WIDE_CACHE)
  const { recorded, lost, duplicated, holes } = total(own)
  const figures =
    `${number(lost)} of ${number(recorded)} visits and duplicated ` + `${number(duplicated)}`
  const living = ofLiving(own.flatMap(({ processes }) => processes))
  if (fault.writersLive) {
    return bench.claim(
      `${fault.name}: wide-cache lost ${figures}; it loses ${bound(living)} (95 %)`,
      recorded > 0 && lost === 0 && duplicated === 0,
    )
  }
  bench.claim(
    `${fault.name}: wide-cache lost ${figures}; only the newest of the killed process are lost; ` +
      `of the other one it loses ${bound(living)} (95 %)`,
    recorded > 0 && living.lost === 0 && holes === 0 && duplicated === 0,
  )
}

function claimAll(bench: Bench, results: readonly Result[]): void {
  const own = results.filter(({ contender }) => contender === WIDE_CACHE)
  const all = ofLiving(own.flatMap(({ processes }) => processes))
  bench.claim(
    `all faults: of writers that lived wide-cache lost ${number(all.lost)} of ` +
      `${number(all.recorded)} visits; it loses ${bound(all)} (95 %)`,
    all.recorded > 0 && all.lost === 0,
  )
}

function table(
  title: string,
  faults: readonly Fault[],
  results: readonly Result[],
  cell: (of: readonly Result[]) => string,
): Table {
  return {
    title,
    rows: faults.map((fault) => ({
      fault: fault.name,
      ...Object.fromEntries(
        CONTENDERS.map((contender) => [contender.label, cell(of(results, fault, contender))]),
      ),
    })),
  }
}

function lost(faults: readonly Fault[], results: readonly Result[]): Table {
  const each = Math.round(median(results.map((result) => total([result]).recorded)))
  return table(
    `Visits lost, and those that came twice (of about ${number(each)} each; those of get and set ` +
      'own collisions are among its losses)',
    faults,
    results,
    (of) => {
      const { recorded, lost, duplicated } = total(of)
      const losses =
        lost === 0 ? '0' : `${number(lost)} (${Number(((lost / recorded) * 100).toPrecision(2))} %)`
      return duplicated === 0 ? losses : `${losses}, ${number(duplicated)} twice`
    },
  )
}

function caughtUp(faults: readonly Fault[], results: readonly Result[]): Table {
  return table(
    'Seconds from the end of the fault until all visits before it were in SQL, of those that ' +
      'ever came',
    faults,
    results,
    (of) => median(of.map(({ seconds }) => seconds)).toFixed(1),
  )
}

/** Lists the faults in which a simpler contender does as well, by the figures. */
function asGood(faults: readonly Fault[], results: readonly Result[]): Table {
  const names = (fault: Fault, which: (outcome: Omit<Outcome, 'killed'>) => boolean): string =>
    CONTENDERS.filter((contender) => which(total(of(results, fault, contender))))
      .map(({ label }) => label)
      .join(', ') || 'nobody'
  return {
    title: 'Who came through (in this run)',
    rows: faults.map((fault) => ({
      fault: fault.name,
      'lost nothing, nothing twice': names(
        fault,
        ({ lost, duplicated }) => lost === 0 && duplicated === 0,
      ),
      'lost something': names(fault, ({ lost }) => lost > 0),
    })),
  }
}

function contenders(): Table {
  return {
    title: 'Who they are, and what they know of themselves',
    rows: CONTENDERS.map(({ label, about }) => ({ contender: label, about })),
  }
}

function chart(faults: readonly Fault[], results: readonly Result[]): BarChart {
  return {
    type: 'bars',
    title: 'Visits lost by fault, with 95 % intervals',
    y: { name: 'visits lost, %' },
    groups: faults.map(({ name }) => name),
    bars: CONTENDERS.map((contender) => ({
      name: contender.label,
      values: faults.map((fault) => {
        const { lost, recorded } = total(of(results, fault, contender))
        const { low, high } = wilson(lost, recorded)
        return { median: (lost / recorded) * 100, low: low * 100, high: high * 100 }
      }),
    })),
  }
}
