/** The upper bound of the loss, by the visits of writers that lived: the bound that is quoted. */
import { mostLikely } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import type { Outcome } from './site.js'

/** Visits of processes of wide-cache that were not killed. */
export const RECORDED = { metric: 'visits of living writers', better: null } as const
export const LOST = { metric: 'visits of living writers lost', better: 'less' } as const
/** The contender of the long runs. */
export const FOR_LONG = 'wide-cache, for long'
export const MIXED = 'mixed at random'

export interface Seen {
  readonly recorded: number
  readonly lost: number
}

export function ofLiving(processes: readonly Outcome[]): Seen {
  const living = processes.filter(({ killed }) => !killed)
  return {
    recorded: living.reduce((sum, { recorded }) => sum + recorded, 0),
    lost: living.reduce((sum, { lost }) => sum + lost, 0),
  }
}

/** `less than 2.1 in a million`, with 95 % confidence. */
export function bound({ recorded, lost }: Seen): string {
  const inAMillion = mostLikely(lost, recorded) * 1e6
  return `less than ${number(Number(inAMillion.toPrecision(3)))} in a million`
}
