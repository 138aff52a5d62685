/** A part's result as it is kept: `bench/results/<part>.json`, and its picture beside it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type Chart, svg } from './chart.js'
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
  /** ISO 8601. */
  readonly date: string
  readonly seconds: number
  readonly machine: Machine
  readonly versions: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, unknown>>
  readonly claims: readonly Claim[]
  readonly measures: readonly Measure[]
}

/** Where results are kept. */
export const RESULTS = new URL('../results/', import.meta.url)

export function write(result: Result, chart: Chart, folder: URL): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${result.part}.json`, folder), `${JSON.stringify(result, undefined, 1)}\n`)
  writeFileSync(new URL(`${result.part}.svg`, folder), svg(chart))
}

/** The newest result of a part. @throws Error that says how to get one */
export function newest(part: string, folder = RESULTS): Result {
  const file = new URL(`${part}.json`, folder)
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(
      `There is no result of "${part}", bench/results/${part}.json: run \`npm run bench -- ` +
        `${part}\` first`,
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
