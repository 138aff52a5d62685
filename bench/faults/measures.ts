/** What is kept of the cost of a fault: a sample for each site. */
import type { Bench } from '../harness/part.js'
import { WIDE_CACHE } from './contenders.js'
import type { Costs } from './costs.js'
import { neutral } from '../harness/samples.js'

export const LOST = neutral('ms of traffic lost')
export const TWICE = neutral('ms of traffic twice')
export const CAUGHT_UP = neutral('s until caught up')

export function record({ samples }: Bench, { fault, contender, costs }: Costs): void {
  // What a killed process loses is a matter of chance.
  const better = contender === WIDE_CACHE && fault.target !== 'web' ? 'less' : null
  for (const { lostMs, twiceMs, seconds } of costs) {
    samples.add(contender.label, fault.name, { ...LOST, better }, lostMs)
    samples.add(contender.label, fault.name, { ...TWICE, better }, twiceMs)
    samples.add(contender.label, fault.name, CAUGHT_UP, seconds)
  }
}
