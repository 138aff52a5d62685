/**
 * A part's result as it is kept: `bench/results/<part>.json`. Those of long runs, with `--full`,
 * are in `bench/results/full/`, so that all others come from one run. `npm run figures` draws the
 * chart.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Chart } from './chart.js'
import type { Machine } from './machine.js'
import type { Mode } from './part.js'
import type { Measure } from './samples.js'

export interface Claim {
  readonly text: string
  readonly holds: boolean
}

export interface Result {
  readonly part: string
  readonly mode: Mode
  /** See `formOf`. */
  readonly form: number
  /** The commit that was measured; with `+` behind it if files of `sources` had changed since. */
  readonly commit: string
  /** Files and folders that are measured, from the root of the project. */
  readonly sources: readonly string[]
  /** ISO 8601. */
  readonly date: string
  readonly seconds: number
  readonly machine: Machine
  readonly versions: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, unknown>>
  readonly claims: readonly Claim[]
  readonly measures: readonly Measure[]
  readonly chart?: Chart
}

/** Folder of the results. Those of long runs are in a folder inside it. */
export const RESULTS = new URL('../results/', import.meta.url)
export const FULL = 'full/'

export function write(result: Result, folder: URL): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${result.part}.json`, folder), `${JSON.stringify(result, undefined, 1)}\n`)
}

/** The newest result of a part. @throws Error that says how to get one */
export function newest(part: string, folder = RESULTS, long = false): Result {
  const file = `${long ? FULL : ''}${part}.json`
  try {
    return parse(readFileSync(new URL(file, folder), 'utf8'))
  } catch (cause) {
    throw new Error(
      `There is no result of "${part}", bench/results/${file}: run \`npm run bench -- ` +
        `${part}${long ? ' --full' : ''}\` first`,
      { cause },
    )
  }
}

/** @throws Error if the text is no result of a benchmark */
export function parse(text: string): Result {
  const result = JSON.parse(text) as Partial<Result>
  if (typeof result.part !== 'string' || !Array.isArray(result.measures)) {
    throw new Error('The file is no result of this benchmark: it has no "part" and "measures"')
  }
  return result as Result
}
