/** Names of what the part `retention` measures, for readers of its results. */
import { less, more, neutral } from '../harness/samples.js'

export const COLLECTOR = 'collector'
export const RETENTION = 'retention'
/** Somebody who commits 100 visits again and again. */
export const BESIDE = 'commits of others'

/** Work that runs beside those commits. */
export const NOTHING = 'nothing else'
export const COLLECTS = 'a collector'
export const REMOVES = 'a collector that removes as much'
export const FULL_SPEED = 'a removal of all rows'

export const SPEED = more('rows/s')
export const CALL = less('longest call, ms')
export const BROUGHT = neutral('rows brought')
export const REMOVED = neutral('rows removed')
export const OVERDUE = neutral('oldest row past its time, s')
export const BEHIND = neutral('collector behind, s')
export const CLOSED = neutral('days closed since the beginning')
export const P50 = less('p50, ms')
export const P99 = less('p99, ms')
export const LONGEST = less('longest, ms')
