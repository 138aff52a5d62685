import type { DrainReport } from './collector/drain-report.js'
import type { LedgerReport } from './ledger/report.js'
import type { Health } from './operations/health.js'
import type { CloseReport } from './writer/closing.js'
import type { MetricsMeter } from '../metrics/open-telemetry.js'

/** The methods that a WideCache, an activity and hits have in common. */
export interface Recorder {
  /**
   * Resolves when all that was recorded so far is in the cache or in SQL. Rejects when neither
   * takes it; it is kept.
   */
  flush(): Promise<void>
  /**
   * Brings all layers that are old enough to SQL. With `all`, also brings the younger ones, so that
   * everything flushed is in SQL afterwards. With a private cache (`memory:`), the next figures
   * then include all of the seconds that are over. Collectors do this by themselves.
   */
  drain(options?: { all?: boolean }): Promise<DrainReport>
  /** Returns what became of all that was recorded. */
  ledger(): Promise<LedgerReport>
  /**
   * Returns the metrics as text for Prometheus: those of the name, from SQL, at most about 10 s old
   * and the same from every process, and those of this process. Never waits for SQL for longer than
   * 3 s. While SQL is away, the last figures are served with their age. `joinMetrics` joins those
   * of several objects to one page.
   *
   * @example
   * ```js
   * import express from 'express'
   * import { createActivity } from 'wide-cache'
   *
   * const activity = createActivity()
   * const inside = express()
   * inside.get('/metrics', async (req, res) => {
   *   res.type('text/plain; version=0.0.4').send(await activity.metrics())
   * })
   * inside.listen(9464, '127.0.0.1')
   * ```
   */
  metrics(): Promise<string>
  /**
   * Lets a meter of OpenTelemetry observe the same figures, until `close()`. They are read once per
   * collection.
   *
   * @throws TypeError
   */
  instrument(meter: MetricsMeter): void
  /**
   * Tells whether this process works, from what it knows already: waits for no server. A problem
   * with tracking never makes the process unready. It has a sentence in `reasons`.
   */
  health(): Health
  /**
   * Brings the tables up to this version and enters the grid. Runs by itself before the first use
   * of SQL.
   */
  migrate(): Promise<void>
  /**
   * Stops collecting, brings all rows that it holds to SQL within `closeTimeoutMs` (twice as long
   * while SQL answers and rows would be lost), and closes the connections that it has opened.
   * Idempotent. Returns what became of these rows. Page views whose
   * connections have been cut just before, by `server.closeAllConnections()`, still count. From
   * then on all other methods fail with a {@link ClosedError}, except `append`, `record`,
   * `middleware` and `health`.
   */
  close(): Promise<CloseReport>
}
