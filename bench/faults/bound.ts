/** How often faults lost a visit of a living process: the bound that is quoted counts faults. */
import { mostLikely } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import { less, neutral } from '../harness/samples.js'

/** Faults of wide-cache, and those of them that lost a visit of a process that lived. */
export const COUNTED = neutral('faults')
export const LOSING = less('faults that lost a visit of a living process')
/** The contender of these runs. */
export const REPEATED = 'wide-cache, fault after fault'
/** The kind of those that happen at the same time. */
export const MIXED = 'mixed, several at a time'

type Counted = Readonly<Record<'faults' | 'losing', number>>

/** `0 of 100 faults`. */
export function counted({ faults, losing }: Counted): string {
  return `${number(losing)} of ${number(faults)} faults`
}

/** `less than 3 %` of such faults, with 95 % confidence: the rule of three if none was seen. */
export function bound({ faults, losing }: Counted): string {
  return `less than ${number(Number((mostLikely(losing, faults) * 100).toPrecision(2)))} %`
}
