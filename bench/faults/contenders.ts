/** A program that the faults are tried on. */
export interface Contender {
  readonly peer: string
  readonly label: string
  /** The time after which it begins anew what it does. The faults come at all parts of it. */
  readonly periodSeconds: number
  /** Visits a second of each writer: those that lose little have many. */
  readonly rate: number
  /** Another process brings its visits to SQL. */
  readonly worker?: true
}

export const WIDE_CACHE: Contender = {
  peer: 'wide-cache',
  label: 'wide-cache',
  periodSeconds: 3,
  rate: 50,
  worker: true,
}

export const CONTENDERS: readonly Contender[] = [
  WIDE_CACHE,
  { peer: 'get-and-set', label: 'get and set', periodSeconds: 3, rate: 10, worker: true },
  { peer: 'append-per-visit', label: 'append per visit', periodSeconds: 3, rate: 10, worker: true },
  { peer: 'redis-list', label: 'Redis list', periodSeconds: 0.5, rate: 10, worker: true },
  { peer: 'redis-hash', label: 'Redis hash, 60 s', periodSeconds: 60, rate: 5 },
  { peer: 'insert-per-visit', label: 'INSERT per visit', periodSeconds: 1, rate: 10 },
  { peer: 'buffer', label: '10 s buffer', periodSeconds: 10, rate: 5 },
  { peer: 'buffer-updates', label: '10 s buffer, row by row', periodSeconds: 10, rate: 5 },
]
