/** On what the figures were measured, what was aimed at, and what was set. */
import { FULL_PARTS, PARTS } from '../harness/parts.js'
import { number } from '../harness/table.js'
import type { Result } from '../harness/result.js'
import { EarlierForm, type Figures, type Read } from './measured.js'

/** Returns the results of all parts, and then of the long runs; none of an earlier form. */
function results(read: Read): Result[] {
  const of = (part: string, long: boolean): Result[] => {
    try {
      return [read(part, long).result]
    } catch (error) {
      if (error instanceof EarlierForm) return []
      throw error
    }
  }
  return [
    ...PARTS.flatMap((part) => of(part, false)),
    ...FULL_PARTS.flatMap((part) => of(part, true)),
  ]
}

function partName({ part, mode }: Result): string {
  return mode === 'full' ? `${part} --full` : part
}

export const machine: Figures = (read) => {
  const all = results(read)
  const of = (say: (result: Result) => string | undefined): string =>
    [...new Set(all.map(say).filter((text) => text !== undefined))].sort().join('; ')
  const programs = [...new Set(all.flatMap(({ versions }) => Object.keys(versions)))]
  return {
    rows: [
      {
        what: 'processor',
        'measured with': of(({ machine }) => `${machine.cores} cores of ${machine.cpu}`),
      },
      { what: 'memory', 'measured with': of(({ machine }) => `${machine.memoryGiB} GiB`) },
      { what: 'system', 'measured with': of(({ machine }) => machine.system) },
      ...programs.map((program) => ({
        what: program,
        'measured with': of(({ versions }) => versions[program]),
      })),
    ],
  }
}

export const runs: Figures = (read) => ({
  rows: results(read).map((result) => ({
    part: partName(result),
    date: result.date.slice(0, 10),
    seconds: number(result.seconds),
    targets: result.claims.length,
    reached: result.claims.filter(({ holds }) => holds).length,
  })),
})

/** Claims that a run of the benchmark prints as NOT SHOWN. */
export const missed: Figures = (read) => ({
  rows: results(read).flatMap((result) =>
    result.claims
      .filter(({ holds }) => !holds)
      .map(({ text }) => ({ part: partName(result), 'aimed at, and in brackets measured': text })),
  ),
})

export const reached: Figures = (read) => ({
  rows: results(read).flatMap((result) =>
    result.claims
      .filter(({ holds }) => holds)
      .map(({ text }) => ({ part: partName(result), 'aimed at, and measured': text })),
  ),
})

export const settings: Figures = (read) => ({
  rows: results(read).flatMap((result) =>
    Object.entries(result.settings).map(([setting, value]) => ({
      part: partName(result),
      setting,
      value: Array.isArray(value) ? value.map(plain).join('; ') : plain(value),
    })),
  ),
})

function plain(value: unknown): string {
  return typeof value === 'number' ? number(value) : String(value)
}
