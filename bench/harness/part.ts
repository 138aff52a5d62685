/** The means that a part of the benchmark is given, and the report that it returns. */
import type { Memcached, MemcachedOptions } from '../../test/servers/memcached.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Postgres } from '../../test/servers/postgres.js'
import type { Redis } from '../../test/servers/redis.js'
import type { Chart } from './chart.js'
import type { Metric, Samples } from './samples.js'

/** `quick`: under half a minute, to see that it runs; `full`: as long as it takes. */
export type Mode = 'quick' | 'normal' | 'full'

/** A part of the benchmark, as its file in `bench/parts/` exports it. */
export interface Part {
  run(bench: Bench): Promise<Chart | undefined>
}

export interface Bench {
  readonly mode: Mode
  readonly samples: Samples
  /** The value of this mode, kept under `name` among the settings of the result. */
  setting<T extends string | number | readonly (string | number)[]>(
    name: string,
    values: { quick: T; normal: T; full?: T },
  ): T
  /** Shown on a terminal, in the place of what was shown before. */
  progress(text: string): void
  /**
   * Something the project promises, and whether this run has shown it: printed and kept with the
   * result.
   */
  claim(text: string, holds: boolean): void
  /** A server of this part's own, stopped after it. */
  memcached(options?: MemcachedOptions): Promise<Memcached>
  mariadb(options?: readonly string[]): Promise<MariaDb>
  postgres(settings?: Readonly<Record<string, string>>): Promise<Postgres>
  redis(options?: readonly string[]): Promise<Redis>
  /** To be done when the part has ended, however it ends; the last first. */
  after(work: () => unknown): void
}

export type { Metric }
