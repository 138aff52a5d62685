/** The measurements of a part: every single sample, by contender, setting and metric. */
import { quantile, type Spread, spread } from './statistics.js'

/** One series of samples, all of the same thing. */
export interface Measure extends Spread {
  readonly contender: string
  /** The parameters that vary: `35/s, width 15`; empty where none does. */
  readonly setting: string
  /** With its unit: `rows/s`, `CPU µs/request`. */
  readonly metric: string
  /** The better direction; `compare` ignores a metric without one. */
  readonly better: 'more' | 'less' | null
  readonly samples: readonly number[]
}

export type Metric = Pick<Measure, 'metric' | 'better'>

/** The less the better. */
export const less = (metric: string): Metric => ({ metric, better: 'less' })
/** The more the better. */
export const more = (metric: string): Metric => ({ metric, better: 'more' })
/** Neither is better, or only the name matters. */
export const neutral = (metric: string): Metric => ({ metric, better: null })

/** Of calls or requests. */
export const P50 = less('p50 ms')
export const P99 = less('p99 ms')

export class Samples {
  readonly #series = new Map<string, Omit<Measure, keyof Spread> & { readonly samples: number[] }>()

  /** `measures`: those of a result, to calculate with them again. */
  constructor(measures: readonly Measure[] = []) {
    for (const { contender, setting, metric, better, samples } of measures) {
      for (const value of samples) this.add(contender, setting, { metric, better }, value)
    }
  }

  add(contender: string, setting: string, { metric, better }: Metric, value: number): void {
    if (!Number.isFinite(value)) {
      throw new RangeError(`${contender}, ${setting}: ${metric} is ${value}`)
    }
    const key = JSON.stringify([contender, setting, metric])
    const series = this.#series.get(key) ?? { contender, setting, metric, better, samples: [] }
    this.#series.set(key, series)
    series.samples.push(value)
  }

  /** {@link P50} and {@link P99} of calls or requests that took so many ms. */
  addLatencies(contender: string, setting: string, ms: readonly number[]): void {
    this.add(contender, setting, P50, quantile(ms, 0.5))
    this.add(contender, setting, P99, quantile(ms, 0.99))
  }

  /** The samples in the order of the rounds. @throws RangeError if there are none */
  of(contender: string, setting: string, { metric }: Metric): readonly number[] {
    const series = this.#series.get(JSON.stringify([contender, setting, metric]))
    if (!series) throw new RangeError(`no samples of ${contender}, ${setting}: ${metric}`)
    return series.samples
  }

  spread(contender: string, setting: string, metric: Metric): Spread {
    return spread(this.of(contender, setting, metric))
  }

  /**
   * `contender` over `other`, within each round, so that what the machine did in a round falls on
   * both.
   */
  ratio(contender: string, other: string, setting: string, metric: Metric): Spread {
    const others = this.of(other, setting, metric)
    const values = this.of(contender, setting, metric)
    return spread(values.map((value, round) => value / others[round]!))
  }

  measures(): Measure[] {
    return [...this.#series.values()].map((series) => ({ ...series, ...spread(series.samples) }))
  }
}
