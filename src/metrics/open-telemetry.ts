/**
 * Metrics for OpenTelemetry: observable instruments of a meter, which are all observed in one
 * callback. The meter is typed structurally, so the package needs nothing of OpenTelemetry.
 */
import { wrongType } from '../support/options.js'
import type { Labels, Metric, Reading } from './metric.js'

/** An observable instrument of a meter. */
export type Instrument = object

/** Takes the values of instruments. */
export interface InstrumentValues {
  /** Takes the value of one series. */
  observe(instrument: Instrument, value: number, attributes?: Labels): void
}

/** Called at each collection. */
export type InstrumentCallback = (values: InstrumentValues) => Promise<void> | void

/** Description of an instrument. */
export interface InstrumentDescription {
  /** One sentence. */
  description?: string
  /** By the UCUM: `s`, `By`, or what is counted, such as `{row}`. */
  unit?: string
}

/** Part of the `Meter` of `@opentelemetry/api` that is needed. */
export interface MetricsMeter {
  /** Makes an instrument whose values never fall. */
  createObservableCounter(name: string, options?: InstrumentDescription): Instrument
  /** Makes an instrument whose values may fall. */
  createObservableGauge(name: string, options?: InstrumentDescription): Instrument
  /** Has `callback` called at each collection, to observe `instruments`. */
  addBatchObservableCallback(callback: InstrumentCallback, instruments: Instrument[]): void
  /** Has it called no more. */
  removeBatchObservableCallback(callback: InstrumentCallback, instruments: Instrument[]): void
}

const METHODS = [
  'createObservableCounter',
  'createObservableGauge',
  'addBatchObservableCallback',
  'removeBatchObservableCallback',
] as const satisfies readonly (keyof MetricsMeter)[]

/**
 * Has `meter` observe `metrics`, whose values are `read` once a collection. Returns what ends it.
 *
 * @throws TypeError
 */
export function observeBy(
  meter: MetricsMeter,
  metrics: readonly Metric[],
  read: () => Promise<readonly Reading[]>,
): () => void {
  const methods: Partial<Record<string, unknown>> = { ...methodsOf(meter) }
  if (METHODS.some((name) => typeof methods[name] !== 'function')) {
    throw wrongType(
      'meter',
      meter,
      'a meter of OpenTelemetry, as metrics.getMeter(name) returns it',
    )
  }
  const instruments = new Map(
    metrics.map((metric) => [metric.name, instrumentOf(meter, metric)] as const),
  )
  const all = [...instruments.values()]
  const callback: InstrumentCallback = async (values) => {
    for (const { metric, samples } of await read()) {
      const instrument = instruments.get(metric.name)
      if (!instrument) continue
      for (const { labels, value } of samples) values.observe(instrument, value, labels)
    }
  }
  meter.addBatchObservableCallback(callback, all)
  return () => {
    try {
      meter.removeBatchObservableCallback(callback, all)
    } catch {
      // Nothing that closes may fail because of a meter that is shut down.
    }
  }
}

function methodsOf(meter: unknown): Record<string, unknown> {
  if (typeof meter !== 'object' || meter === null) return {}
  const methods = meter as Record<string, unknown>
  return Object.fromEntries(METHODS.map((name) => [name, methods[name]]))
}

function instrumentOf(meter: MetricsMeter, { name, type, unit, help }: Metric): Instrument {
  const options = { description: help, unit }
  const dotted = instrumentName(name)
  return type === 'counter'
    ? meter.createObservableCounter(dotted, options)
    : meter.createObservableGauge(dotted, options)
}

/**
 * The name of a metric in OpenTelemetry: `wide_cache.lost` of `wide_cache_lost_total`. It keeps its
 * unit, so that exporters to Prometheus make the former name of it, whether they append units or
 * not.
 */
export function instrumentName(name: string): string {
  return name
    .replace(/_total$/, '')
    .replace(/^wide_cache_process_/, 'wide_cache.process.')
    .replace(/^wide_cache_/, 'wide_cache.')
}
