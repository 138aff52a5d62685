/** The means that a part of the benchmark is given, and the report that it returns. */
import type { FaultyTcp } from '../../test/servers/faulty-tcp.js'
import type { Memcached, MemcachedOptions } from '../../test/servers/memcached.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Postgres } from '../../test/servers/postgres.js'
import type { Redis } from '../../test/servers/redis.js'
import type { Chart } from './chart.js'
import type { Child } from './child.js'
import type { Cores } from './cores.js'
import type { Metric, Samples } from './samples.js'

/** `quick`: under half a minute, to see that it runs; `full`: as long as it takes. */
export type Mode = 'quick' | 'normal' | 'full'

export type Setting = string | number | readonly (string | number)[]

/** A part of the benchmark, as its file in `bench/parts/` exports it. */
export interface Part {
  run(bench: Bench): Promise<Chart | undefined>
}

export interface Bench {
  readonly mode: Mode
  readonly samples: Samples
  /**
   * The value of this mode, kept under `name` among the settings of the result. A mode that is not
   * given has the value of the one before it.
   */
  setting<T extends Setting>(name: string, quick: T, normal?: T, full?: T): T
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
  /** A way to the server at `target`, `host:port`, that can be slow or cut. */
  proxy(target: string): Promise<FaultyTcp>
  /** A program of ours in a process of its own, ended after this part. */
  child(program: URL, how?: Cores['alone']): Child
  /** Closes it after this part, and returns it. */
  closing<Opened extends { close(): unknown } | { end(): unknown }>(opened: Opened): Opened
  /** To be done when the part has ended, however it ends; the last first. */
  after(work: () => unknown): void
}

export type { Metric }
