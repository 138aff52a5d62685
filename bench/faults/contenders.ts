/** Programs that the faults are tried on. */
import type { VisitTable } from './table.js'

/** A program that the faults are tried on. */
export interface Contender {
  readonly peer: string
  readonly label: string
  readonly table: VisitTable
  /** Its setup here, and what it must lose or repeat by its nature. */
  readonly about: string
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
  table: 'activities',
  periodSeconds: 3,
  rate: 50,
  worker: true,
  about:
    'a collector in another process; a process killed with SIGKILL loses its open frame ' +
    '(50 ms), and a lost cell takes confirmSeconds to come',
}

export const CONTENDERS: readonly Contender[] = [
  WIDE_CACHE,
  {
    peer: 'get-and-set',
    label: 'get and set',
    table: 'visits',
    periodSeconds: 3,
    rate: 10,
    worker: true,
    about:
      'get, push, set; a worker drains old layers; loses at collisions and what the cache ' +
      'loses; a worker killed between INSERT and delete repeats a layer',
  },
  {
    peer: 'append-per-visit',
    label: 'append per visit',
    table: 'visits',
    periodSeconds: 3,
    rate: 10,
    worker: true,
    about:
      'append, add, append; the same worker; loses what the cache loses or does not take; a ' +
      'worker killed between INSERT and delete repeats a layer',
  },
  {
    peer: 'redis-list',
    label: 'Redis list',
    table: 'visits',
    periodSeconds: 0.5,
    rate: 10,
    worker: true,
    about:
      'RPUSH; a worker does LRANGE, INSERT, LTRIM; Redis keeps an append-only file ' +
      '(everysec) and has the same done to it as memcached; a worker killed between INSERT ' +
      'and LTRIM repeats a batch',
  },
  {
    peer: 'redis-hash',
    label: 'Redis hash, 60 s',
    table: 'counts',
    periodSeconds: 60,
    rate: 5,
    about:
      'sums in the process for 1 s, then HINCRBY; each minute HGET, HDEL and a statement for ' +
      'each page; the same Redis; loses what is in the process, and what it has taken and SQL ' +
      'does not take',
  },
  {
    peer: 'insert-per-visit',
    label: 'INSERT per visit',
    table: 'visits',
    periodSeconds: 1,
    rate: 10,
    about:
      'no cache, no worker: nothing to lose there, and at once in SQL; loses what comes ' +
      'while the database is away',
  },
  {
    peer: 'buffer',
    label: '10 s buffer',
    table: 'visits',
    periodSeconds: 10,
    rate: 5,
    about:
      'no cache, no worker; keeps what the database does not take; a process killed with ' +
      'SIGKILL loses up to 10 s',
  },
  {
    peer: 'buffer-updates',
    label: '10 s buffer, row by row',
    table: 'counts',
    periodSeconds: 10,
    rate: 5,
    about: 'the same with sums: a statement for each page, each committed by itself',
  },
]
