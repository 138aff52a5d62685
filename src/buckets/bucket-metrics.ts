/** The metrics of a map or an export queue: what SQL holds, and what this process has done. */
import { DATABASE_ERROR_METRICS, databaseErrorReadings } from '../connections/error-metrics.js'
import type { Queryable } from '../database/database.js'
import { ageOf, LastKnown } from '../metrics/last-known.js'
import {
  counter,
  gauge,
  type Metric,
  type MetricTable,
  type Reading,
  readingsOf,
} from '../metrics/metric.js'
import type { Measured } from '../metrics/telemetry.js'
import { shared } from '../support/shared.js'
import type { Calls } from './calls.js'
import type { Queue } from './queue.js'

/** Lifetime of one reading of SQL in this process, in ms. */
const READ_EVERY_MS = 10_000

/** The most rows that are counted at a time, so that a long queue costs no more. */
export const MAX_COUNTED = 100_000

/** The metrics of a process that processes what is queued. */
export interface ProcessTable extends MetricTable {
  readonly runs: Metric
  readonly failures: Metric
  readonly taken: Metric
  readonly seconds: Metric
  readonly callSeconds: Metric
  readonly timeouts: Metric
  readonly figuresAge: Metric
}

/**
 * @param what as in the names of the metrics
 * @param taken what processing takes from the queue
 */
export function processTable(what: string, taken: string, unit: string): ProcessTable {
  return {
    runs: counter(`process_${what}_runs`, '{run}', 'Processing runs that succeeded.'),
    failures: counter(`process_${what}_failures`, '{run}', 'Processing runs that failed.'),
    taken: counter(`process_${what}_${taken}`, unit, 'What its runs took from the queue.'),
    seconds: counter(`process_${what}_seconds`, 's', 'Seconds that its runs took.'),
    callSeconds: gauge(
      `process_${what}_call_seconds`,
      's',
      'Seconds that the oldest call of onUpdate or the exporter has run; 0: none is under way.',
    ),
    timeouts: counter(
      `process_${what}_call_timeouts`,
      '{call}',
      'Calls of onUpdate or the exporter that were given up at their time limit.',
    ),
    figuresAge: gauge(
      `process_${what}_figures_age_seconds`,
      's',
      'Seconds since the figures from SQL on this page were read.',
    ),
  }
}

/** The metrics of a map or an export queue. */
export interface QueueMetrics<Stored extends MetricTable> {
  /** Metrics that SQL has. */
  readonly stored: Stored
  readonly process: ProcessTable
  /** Reads the figures of the map or queue `id`. @throws DatabaseError */
  read(
    database: Pick<Queryable, 'query'>,
    id: string,
  ): Promise<Readonly<Record<keyof Stored, number>>>
}

export class BucketMetrics implements Measured {
  readonly #queue: Queue<unknown, unknown>
  readonly #metrics: QueueMetrics<MetricTable>
  readonly #calls: Calls
  readonly #figures: LastKnown<Readonly<Record<string, number>>>
  #runs = 0
  #failures = 0
  #taken = 0
  #ms = 0

  constructor(queue: Queue<unknown, unknown>, metrics: QueueMetrics<MetricTable>, calls: Calls) {
    const {
      name: id,
      database,
      environment: { clock },
    } = queue
    this.#queue = queue
    this.#metrics = metrics
    this.#calls = calls
    this.#figures = new LastKnown(
      clock,
      shared(clock, READ_EVERY_MS, async () => {
        const at = clock.elapsed()
        return { figures: await metrics.read(database, id), at }
      }),
    )
  }

  /** Counts a processing run, which resolves with how many it has taken. @throws what it throws */
  async count(run: () => Promise<number>): Promise<number> {
    const { clock } = this.#queue.environment
    const began = clock.elapsed()
    try {
      const taken = await run()
      this.#runs++
      this.#taken += taken
      return taken
    } catch (error) {
      this.#failures++
      throw error
    } finally {
      this.#ms += clock.elapsed() - began
    }
  }

  get metrics(): readonly Metric[] {
    const { stored, process } = this.#metrics
    return [
      ...Object.values(stored),
      ...Object.values(process),
      ...(this.#queue.errors ? DATABASE_ERROR_METRICS : []),
    ]
  }

  async readings(): Promise<Reading[]> {
    const { stored, process } = this.#metrics
    const {
      name: id,
      errors,
      environment: { clock },
    } = this.#queue
    const known = await this.#figures.get()
    const name = { name: id }
    return [
      ...(known ? readingsOf(stored, name, known.figures) : []),
      ...readingsOf(process, name, {
        runs: this.#runs,
        failures: this.#failures,
        taken: this.#taken,
        seconds: this.#ms / 1000,
        callSeconds: this.#calls.longestMs / 1000,
        timeouts: this.#calls.timeouts,
        figuresAge: known && ageOf(known, clock.elapsed()) / 1000,
      }),
      ...(errors ? databaseErrorReadings(id, errors) : []),
    ]
  }
}
