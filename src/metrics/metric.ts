/**
 * Metrics and their values. The names are those of Prometheus; for OpenTelemetry see
 * open-telemetry.ts.
 */

/** Labels of a series, which tell the series of one metric apart. */
export type Labels = Readonly<Record<string, string>>

/** One metric, as its table in docs/metrics.md has it. */
export interface Metric {
  /** Begins with `wide_cache_`, and ends with its unit and, of a counter, with `_total`. */
  readonly name: string
  /** A counter never falls while its object lives; a gauge may. */
  readonly type: 'counter' | 'gauge'
  /** By the UCUM, as OpenTelemetry has it: `s`, `By`, or what is counted, such as `{row}`. */
  readonly unit: string
  /** One sentence, or two. */
  readonly help: string
}

/** The value of one series. */
export interface Sample {
  readonly labels: Labels
  readonly value: number
}

/** A metric and all its series, as they are now. */
export interface Reading {
  readonly metric: Metric
  readonly samples: readonly Sample[]
}

/** Metrics by their names in the code. */
export type MetricTable = Readonly<Record<string, Metric>>

export function counter(name: string, unit: string, help: string): Metric {
  return { name: `wide_cache_${name}_total`, type: 'counter', unit, help }
}

export function gauge(name: string, unit: string, help: string): Metric {
  return { name: `wide_cache_${name}`, type: 'gauge', unit, help }
}

/** The values of a table's metrics, all with the same labels; `undefined`: not known. */
export function readingsOf<Table extends MetricTable>(
  table: Table,
  labels: Labels,
  values: Readonly<Partial<Record<keyof Table, number | undefined>>>,
): Reading[] {
  return Object.entries(table).flatMap(([key, metric]) => {
    const value = values[key]
    // What comes from a cache may be anything.
    return typeof value === 'number' ? [{ metric, samples: [{ labels, value }] }] : []
  })
}

/** Joins the readings of objects of one class: each metric comes once, with the series of all. */
export function joined(readings: readonly (readonly Reading[])[]): Reading[] {
  const byName = new Map<string, Reading>()
  for (const { metric, samples } of readings.flat()) {
    const others = byName.get(metric.name)?.samples ?? []
    byName.set(metric.name, { metric, samples: [...others, ...samples] })
  }
  return [...byName.values()]
}
