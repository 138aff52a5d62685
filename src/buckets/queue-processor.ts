import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { Telemetry } from '../metrics/telemetry.js'
import type { BucketMetrics } from './bucket-metrics.js'
import type { Calls } from './calls.js'
import { eachBucket } from './each-bucket.js'
import { bucketsOf, type Every } from './options.js'
import { Processing } from './processing.js'
import type { Queue } from './queue.js'

/** Parts of a processor. */
export interface ProcessorParts {
  readonly queue: Queue<unknown, unknown>
  readonly every: Every
  readonly metrics: BucketMetrics
  readonly calls: Calls
  /** Processes a bucket, and returns how many it has taken from the queue. */
  readonly processBucket: (bucket: number) => Promise<number>
}

/** The methods that maps and export queues share. */
export abstract class QueueProcessor {
  readonly #queue: Queue<unknown, unknown>
  readonly #processBucket: (bucket: number) => Promise<number>
  readonly #metrics: BucketMetrics
  readonly #calls: Calls
  readonly #telemetry: Telemetry
  readonly #processing: Processing

  constructor({ queue, every, metrics, calls, processBucket }: ProcessorParts) {
    this.#queue = queue
    this.#processBucket = processBucket
    this.#metrics = metrics
    this.#calls = calls
    this.#telemetry = new Telemetry([metrics])
    const process = () => this.#process()
    this.#processing = new Processing({ every, queue, calls, process })
  }

  /**
   * Processes what is queued, bucket by bucket. Skips buckets that another processor works on, or
   * that rest after a failure. Any number of processes may call it, at any time and repeatedly.
   * When it resolves, a map has processed all updates committed before the call, except those in
   * buckets that it has skipped. An export queue exports at most 50,000 entries of a bucket in one
   * call.
   *
   * @returns how many updates or entries it has taken from the queue, updates that it has parked
   * included
   * @throws the first error of a bucket, such as that of `onUpdate` or `exporter`, after going on
   * with all others; at once if the database is unreachable or full. What is not processed stays
   * queued.
   */
  process(): Promise<number> {
    return this.#queue.connections.run(() => this.#process())
  }

  #process(): Promise<number> {
    return this.#metrics.count(() =>
      eachBucket(this.#queue.buckets, this.#queue.environment, this.#processBucket),
    )
  }

  /**
   * Returns its metrics as text for Prometheus: what SQL holds, at most 10 s old, and what this
   * process has done. Never waits for SQL for longer than 3 s. `joinMetrics()` joins those of
   * several objects to one page.
   */
  metrics(): Promise<string> {
    return this.#queue.connections.run(() => this.#telemetry.text())
  }

  /**
   * Has a meter of OpenTelemetry observe the same figures, until `close()`.
   *
   * @throws TypeError
   */
  instrument(meter: MetricsMeter): void {
    this.#queue.connections.check()
    this.#telemetry.instrument(meter)
  }

  /**
   * Changes the number of buckets (1 to 1000), at any time: nothing is lost, and processes that are
   * at work go on with the new ones. Then give all processes the new number, or none: one that
   * starts with the old number is refused.
   *
   * @throws TypeError, RangeError; DatabaseError
   */
  changeBuckets(n: number): Promise<void> {
    const { connections, buckets } = this.#queue
    return connections.run(async () => buckets.change(bucketsOf('n', n)))
  }

  /**
   * Makes the tables, or brings them up to this version, and stores the number of buckets where it
   * is new.
   *
   * @throws BucketsDifferError if the stored number is not the one given; DatabaseError
   */
  migrate(): Promise<void> {
    return this.#queue.connections.run(() => this.#queue.buckets.enter())
  }

  /**
   * Stops processing by itself, waits for what is under way, 5 s at most, and closes the database
   * if it was opened here. Aborts the `signal` of calls that are still under way. Idempotent. What
   * is queued stays queued. From then on all other methods reject with a `ClosedError`.
   */
  close(): Promise<void> {
    const { connections } = this.#queue
    return connections.close(async () => {
      this.#telemetry.end()
      await connections.finish(this.#processing.stop())
      this.#calls.end()
    })
  }
}
