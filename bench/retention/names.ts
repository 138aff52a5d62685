/** Names of what the part `retention` measures, for readers of its results. */
import type { Metric } from '../harness/samples.js'

export const COLLECTOR = 'collector'
export const RETENTION = 'retention'
/** Somebody who commits 100 visits again and again. */
export const BESIDE = 'commits of others'

/** Work that runs beside those commits. */
export const NOTHING = 'nothing else'
export const COLLECTS = 'a collector'
export const REMOVES = 'a collector that removes as much'
export const FULL_SPEED = 'a removal of all rows'

export const SPEED = { metric: 'rows/s', better: 'more' } as const
export const CALL = { metric: 'longest call, ms', better: 'less' } as const
export const BROUGHT: Metric = { metric: 'rows brought', better: null }
export const REMOVED: Metric = { metric: 'rows removed', better: null }
export const OVERDUE: Metric = { metric: 'oldest row past its time, s', better: null }
export const BEHIND: Metric = { metric: 'collector behind, s', better: null }
export const CLOSED: Metric = { metric: 'days closed since the beginning', better: null }
export const P50 = { metric: 'p50, ms', better: 'less' } as const
export const P99 = { metric: 'p99, ms', better: 'less' } as const
export const LONGEST = { metric: 'longest, ms', better: 'less' } as const
