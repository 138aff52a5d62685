import type { Database } from '../database/database.js'
import type { Codec } from '../support/codec.js'
import type { RetentionContext } from './contexts.js'
import type { GridSettings } from './grid-options.js'
import type { Commit } from './ledger/rows.js'
import type { OwnName } from './ledger/name-settings.js'
import type { AddedMetrics } from './operations/name-state.js'

export type RemoveOld = (database: Database, context: RetentionContext) => Promise<boolean | void>

/** Settings of an engine: those of its grid, and what activity, hits or a WideCache hand in. */
export interface EngineSettings<Row> extends GridSettings, OwnName {
  /** Parts of the package whose tables it needs. */
  readonly tables: readonly string[]
  readonly codec: Codec<Row>
  readonly commit: Commit<Row>
  readonly maxCommitRows: number
  readonly readTtlSeconds: number
  readonly removeOld: RemoveOld | undefined
  /**
   * Called by the process that collects: after drains of a thousand rows, after others every 10 s
   * at most, and each minute.
   */
  readonly afterDrain: ((database: Database) => Promise<void>) | undefined
  /**
   * Called by the process that collects, with the database's clock, after a run, every 10 s at
   * most. Must take milliseconds only.
   */
  readonly afterRun: ((database: Database, now: number) => Promise<void>) | undefined
  /** Metrics that it adds to those of its name. */
  readonly metrics: AddedMetrics | undefined
  /** Advice for the log if no process collects. */
  readonly collectorRemedy: string
}
