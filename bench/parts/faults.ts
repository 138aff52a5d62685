/**
 * What faults of servers and processes cost each contender, as time of traffic; and with `--full`,
 * how many faults lose nothing of wide-cache.
 */
import { ensureBinaries } from '../../test/servers/binaries.js'
import { busy } from '../faults/busy.js'
import { CONTENDERS, WIDE_CACHE } from '../faults/contenders.js'
import { costs } from '../faults/costs.js'
import { type Fault, FAULTS, NOTHING } from '../faults/faults.js'
import { LOST, TWICE } from '../faults/measures.js'
import { repeated } from '../faults/repeated.js'
import { barChart, type Chart } from '../harness/chart.js'
import { versions } from '../harness/machine.js'
import type { Bench } from '../harness/part.js'
import { number } from '../harness/table.js'

/** Of a moment, and not of the worker. Those of a web process come last. */
const BUSY_FAULTS = FAULTS.filter(({ name }) =>
  ['cache restarted', 'web process killed'].includes(name),
)
const QUICK_FAULTS = ['nothing', 'cache flushed', 'web process killed']

export async function run(bench: Bench): Promise<Chart | undefined> {
  ensureBinaries(['redis'])
  // With the default of 60 s a flushed cache is caught up a minute later; 34 is the least that
  // is allowed beside the other defaults.
  const confirmSeconds = bench.setting('confirmSeconds of wide-cache', 34)
  const redis = `${versions(['redis'])['redis']}, appendonly yes, appendfsync everysec`
  bench.setting('Redis', redis)
  const given = {
    options: { confirmSeconds },
    waitSeconds: bench.setting('seconds waited after the last visit', 1, 45),
    sites: bench.setting('sites', 2, 20),
  }
  if (bench.mode === 'full') {
    await repeated(bench, {
      ...given,
      faults: bench.setting('faults of each kind', 2, 2, 100),
      spacingSeconds: bench.setting('seconds from a fault of a site to the next', 20),
      // Many processes share the machine, and each visit is a frame.
      rate: bench.setting('visits/s of each web process', 10),
      seed: bench.setting('seed of the faults', 1),
    })
    return undefined
  }
  const rates = CONTENDERS.map(({ label, rate }) => `${label} ${rate}`)
  bench.setting('visits/s of each writer', rates)
  const faults = FAULTS.filter(({ name }) => bench.mode !== 'quick' || QUICK_FAULTS.includes(name))
  await costs(bench, {
    ...given,
    faults,
    // More than the longest period, and the longest outage.
    spacingSeconds: bench.setting('seconds from a fault to the next', 8, 80),
    secondsBefore: bench.setting('seconds before the first fault', 20, 150),
  })
  await busy(bench, {
    ...given,
    faults: BUSY_FAULTS,
    turns: bench.setting('faults of each kind at 1,000 visits/s', 1, 20),
    seed: bench.setting('seed of their moments', 1),
  })
  for (const fault of faults) claim(bench, fault)
  const shown = faults.filter((fault) => fault !== NOTHING && fault.seconds !== 2)
  const most = (label: string): number =>
    Math.max(...shown.flatMap(({ name }) => bench.samples.of(label, name, LOST)))
  return barChart(
    'The most that one fault has cost: traffic lost, of all kinds of faults',
    'seconds of traffic',
    CONTENDERS.map(({ label }) => ({ name: label, value: most(label) / 1000 })),
  )
}

function claim({ claim, samples }: Bench, { name, target }: Fault): void {
  const [lost, twice] = [LOST, TWICE].map((metric) => samples.of(WIDE_CACHE.label, name, metric))
  const most = (of: readonly number[]): string => `${number(Math.max(...of))} ms of traffic`
  claim(
    `${name}, ${lost!.length} times: wide-cache lost at most ${most(lost!)}` +
      `${target === 'web' ? ', of the process that was killed' : ''}, and brought ` +
      `${most(twice!)} twice`,
    Math.max(...twice!) === 0 && (target === 'web' || Math.max(...lost!) === 0),
  )
}
