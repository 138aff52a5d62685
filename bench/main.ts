/**
 * The benchmark: what wide-cache costs and what it loses, beside the alternatives.
 *
 *     npm run bench                                    all parts, about 85 minutes on 2 cores
 *     npm run bench -- loss overhead                   some
 *     npm run bench -- --quick                         each in under half a minute, as a trial
 *     npm run bench -- loss --full                     as long as it takes
 *     npm run bench -- compare --against v0.1.0 drain  the working tree and a commit, side by side
 *     npm run bench -- model                           what sites need, by the newest scale result
 *
 * `npm run figures` then brings the results into the tables of the README and the docs.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { compareAgainst } from './against/compare.js'
import { LEAST_RUNS } from './against/verdict.js'
import type { Mode, Part } from './harness/part.js'
import { PARTS } from './harness/parts.js'
import { FULL, RESULTS } from './harness/result.js'
import { run } from './harness/run.js'
import { markdown } from './harness/table.js'

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      against: { type: 'string' },
      repetitions: { type: 'string' },
      results: { type: 'string' },
    },
  })
  const comparing = positionals[0] === 'compare'
  if (!comparing && (values.against ?? values.repetitions) !== undefined) {
    throw new Error('--against and --repetitions are for `npm run bench -- compare`')
  }
  if (comparing) {
    if (values.against === undefined) throw new Error('compare takes --against and a commit')
    process.exitCode = await guard(values.against, values.repetitions, positionals.slice(1), values)
  } else if (positionals[0] === 'model') await model(positionals.slice(1))
  else {
    const mode = modeOf(values)
    const { results } = values
    const kept = mode === 'full' ? new URL(FULL, RESULTS) : RESULTS
    const folder = results === undefined ? kept : pathToFileURL(`${resolve(results)}/`)
    process.exitCode = await bench(positionals, mode, folder)
    // Said once, by the process that was asked; and a quick run's results are not for the docs.
    if (process.send === undefined && mode !== 'quick') {
      console.log('\nBring the results into the README and the docs: npm run figures')
    }
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

function modeOf({ quick, full }: { quick: boolean; full: boolean }): Mode {
  if (quick && full) throw new Error('--quick and --full exclude each other')
  return quick ? 'quick' : full ? 'full' : 'normal'
}

/** The exit code: 1 if a part failed, or something that is promised was not shown. */
async function bench(names: readonly string[], mode: Mode, results: URL): Promise<number> {
  checkNames(names)
  if (names.length === 1) {
    const part = (await import(`./parts/${names[0]}.js`)) as Part
    return (await run(names[0]!, part, mode, results)) ? 0 : 1
  }
  const failed: string[] = []
  for (const name of names.length === 0 ? PARTS : names) {
    // Each part in a process of its own: no part pays for the heap of the one before it.
    const child = fork(fileURLToPath(import.meta.url), [
      name,
      ...(mode === 'normal' ? [] : [`--${mode}`]),
      '--results',
      fileURLToPath(results),
    ])
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) failed.push(name)
  }
  if (failed.length > 0) {
    console.log(`\nFailed, or did not show what is promised: ${failed.join(', ')}`)
  }
  return failed.length === 0 ? 0 : 1
}

function checkNames(names: readonly string[]): void {
  const unknown = names.find((name) => !PARTS.includes(name))
  if (unknown !== undefined) {
    throw new Error(
      `There is no part "${unknown}"; there are: ${PARTS.join(', ')}, and compare and model`,
    )
  }
}

/** The exit code: 1 if the working tree is worse than the commit, beyond the spread. */
async function guard(
  commit: string,
  repetitions = String(LEAST_RUNS),
  names: readonly string[],
  modes: { quick: boolean; full: boolean },
): Promise<number> {
  checkNames(names)
  if (!/^[1-9]\d{0,2}$/.test(repetitions) || Number(repetitions) < LEAST_RUNS) {
    throw new Error(
      `--repetitions is "${repetitions}": it takes a whole number from ${LEAST_RUNS} to 999`,
    )
  }
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stopped.abort(new Error(`Stopped by ${signal}`)))
  }
  const [parts, times] = [names.length === 0 ? PARTS : names, Number(repetitions)]
  const worse = await compareAgainst(commit, parts, modeOf(modes), times, stopped.signal)
  return worse ? 1 : 0
}

async function model(others: readonly string[]): Promise<void> {
  if (others.length > 0) {
    throw new Error(
      'model takes nothing more: it calculates from the newest result of the part "scale"',
    )
  }
  const { calculated } = await import('./scale/calculated.js')
  for (const table of calculated()) console.log(markdown(table))
}
