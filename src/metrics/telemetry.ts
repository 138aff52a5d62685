import type { Metric, Reading } from './metric.js'
import { type MetricsMeter, observeBy } from './open-telemetry.js'
import { prometheusText } from './prometheus.js'

/** Something that has metrics. */
export interface Measured {
  /** All metrics that its readings may be of. */
  readonly metrics: readonly Metric[]
  readings(): Promise<readonly Reading[]>
}

/**
 * Exposes the metrics of an object to Prometheus and OpenTelemetry. Each part of the object has
 * some of them, and no two parts have the same.
 */
export class Telemetry {
  readonly #parts: readonly Measured[]
  readonly #observed: (() => void)[] = []

  constructor(parts: readonly Measured[]) {
    this.#parts = parts
  }

  /** Returns the page for Prometheus. */
  async text(): Promise<string> {
    const readings = await Promise.all(this.#parts.map((part) => part.readings()))
    return prometheusText(readings.flat())
  }

  /** Has a meter observe the metrics until {@link end}. @throws TypeError */
  instrument(meter: MetricsMeter): void {
    for (const part of this.#parts) {
      this.#observed.push(observeBy(meter, part.metrics, () => part.readings()))
    }
  }

  end(): void {
    for (const end of this.#observed) end()
  }
}
