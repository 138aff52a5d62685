/** A program that the faults are tried on. */
export interface Contender {
  readonly peer: string
  readonly label: string
  readonly table: 'visits' | 'activities'
  /** Its setup here, and what it must lose or repeat by its nature. */
  readonly about: string
  /** The process that brings its visits to SQL, where the web processes do not. */
  readonly collector?: 'wide-cache collect' | 'worker'
}

export const WIDE_CACHE: Contender = {
  peer: 'wide-cache',
  label: 'wide-cache',
  table: 'activities',
  collector: 'wide-cache collect',
  about:
    'one `wide-cache collect`; a process killed with SIGKILL loses its open frame (50 ms), ' +
    'and a lost cell takes confirmSeconds to come',
}

export const CONTENDERS: readonly Contender[] = [
  WIDE_CACHE,
  {
    peer: 'get-and-set',
    label: 'get and set',
    table: 'visits',
    collector: 'worker',
    about:
      'get, push, set; a worker drains old layers; loses at collisions and what the cache ' +
      'loses; a worker killed between INSERT and delete repeats a layer',
  },
  {
    peer: 'append-per-visit',
    label: 'append per visit',
    table: 'visits',
    collector: 'worker',
    about:
      'append, add, append; the same worker; loses what the cache loses or does not take; a ' +
      'worker killed between INSERT and delete repeats a layer',
  },
  {
    peer: 'redis-list',
    label: 'Redis list',
    table: 'visits',
    collector: 'worker',
    about:
      'RPUSH; a worker does LRANGE, INSERT, LTRIM; Redis keeps an append-only file ' +
      '(everysec) and has the same done to it as memcached; a worker killed between INSERT ' +
      'and LTRIM repeats a batch',
  },
  {
    peer: 'insert-per-visit',
    label: 'INSERT per visit',
    table: 'visits',
    about:
      'no cache, no worker: nothing to lose there, and at once in SQL; loses what comes ' +
      'while the database is away',
  },
  {
    peer: 'buffer',
    label: '10 s buffer',
    table: 'visits',
    about:
      'no cache, no worker; keeps what the database does not take; a process killed with ' +
      'SIGKILL loses up to 10 s',
  },
]
