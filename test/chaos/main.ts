/** `npm run chaos`: see {@link USAGE}. */
import { parseArgs } from 'node:util'
import { ensureBinaries } from '../servers/binaries.js'
import { runChaos } from './chaos.js'
import { printReport } from './print.js'

const USAGE = `Usage: npm run chaos -- [--minutes N] [--seed S] [--verbose] [--apart]

Runs four sites of several processes on real memcached, Redis, MariaDB and SQLite, disturbs them at
random, lets them heal, and checks that every row recorded is in its table once, or reported.

  --minutes N  how long faults happen; healing takes up to five minutes more (default: 60)
  --seed S     draws the faults: the same seed and minutes give the same ones (default: random)
  --verbose    prints each fault
  --apart      gives each site names of its own, and one geometry to all processes

Exit code: 0 if all checks hold, 1 if one is broken, 2 if it cannot run.`

const MAX_SEED = 2 ** 32 - 1

try {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * MAX_SEED)) },
      verbose: { type: 'boolean', default: false },
      apart: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) console.log(USAGE)
  else {
    process.exitCode = await main(
      number('minutes', values.minutes, 0.1, 24 * 60),
      Math.floor(number('seed', values.seed, 0, MAX_SEED)),
      values,
    )
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}

async function main(
  minutes: number,
  seed: number,
  { verbose, apart }: { verbose: boolean; apart: boolean },
): Promise<number> {
  ensureBinaries(['memcached', 'redis', 'mariadb', 'faketime'])
  const again = `npm run chaos -- --minutes ${minutes} --seed ${seed}${apart ? ' --apart' : ''}`
  console.log(again)
  const report = await runChaos({
    seed,
    seconds: minutes * 60,
    apart,
    ...(verbose ? { say: console.log } : {}),
  })
  return printReport(report, again) ? 0 : 1
}

function number(option: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= least && value <= most) return value
  throw new RangeError(
    `--${option} is "${text}"; it must be a number from ${least} to ${most}\n\n${USAGE}`,
  )
}
