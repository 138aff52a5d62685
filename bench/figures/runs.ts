/** On what the figures were measured, what was aimed at, and what was set. */
import { FULL_PARTS, PARTS } from '../harness/parts.js'
import { number } from '../harness/table.js'
import type { Result } from '../harness/result.js'
import { EarlierForm, type Figures, type Read, type Tables } from './measured.js'

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

function plain(value: unknown): string {
  return typeof value === 'number' ? number(value) : String(value)
}

/** The claims that the runs have shown, or have not. */
const claims =
  (shown: boolean, title: string): Figures =>
  (read) => ({
    rows: results(read).flatMap((result) =>
      result.claims.flatMap(({ text, holds }) =>
        holds === shown ? { part: partName(result), [title]: text } : [],
      ),
    ),
  })

export const tables: Tables = {
  machine: (read) => {
    const all = results(read)
    const row = (what: string, say: (result: Result) => string | undefined) => ({
      what,
      'measured with': [...new Set(all.map(say).filter((text) => text !== undefined))]
        .sort()
        .join('; '),
    })
    const programs = [...new Set(all.flatMap(({ versions }) => Object.keys(versions)))]
    return {
      rows: [
        row('processor', ({ machine }) => `${machine.cores} cores of ${machine.cpu}`),
        row('memory', ({ machine }) => `${machine.memoryGiB} GiB`),
        row('system', ({ machine }) => machine.system),
        ...programs.map((program) => row(program, ({ versions }) => versions[program])),
      ],
    }
  },

  runs: (read) => ({
    rows: results(read).map((result) => ({
      part: partName(result),
      date: result.date.slice(0, 10),
      seconds: number(result.seconds),
      targets: result.claims.length,
      reached: result.claims.filter(({ holds }) => holds).length,
    })),
  }),

  /** Claims that a run of the benchmark prints as NOT SHOWN. */
  missed: claims(false, 'aimed at, and in brackets measured'),
  reached: claims(true, 'aimed at, and measured'),

  settings: (read) => ({
    rows: results(read).flatMap((result) =>
      Object.entries(result.settings).map(([setting, value]) => ({
        part: partName(result),
        setting,
        value: Array.isArray(value) ? value.map(plain).join('; ') : plain(value),
      })),
    ),
  }),
}
