/** Results, as tables read them. */
import { formOf } from '../harness/parts.js'
import { FULL, newest, type Result } from '../harness/result.js'
import { type Measure, type Metric, Samples } from '../harness/samples.js'
import type { Spread } from '../harness/statistics.js'
import { number, type Table, withSpread } from '../harness/table.js'

export interface Measured {
  readonly result: Result
  readonly samples: Samples
}

/** A result of a part that measures something else by now. */
export class EarlierForm extends Error {}

/**
 * The result of a part; `long`: of its run with `--full`. @throws Error that names the file and
 * says how to get it; `EarlierForm` if it is there and of no use
 */
export type Read = (part: string, long?: boolean) => Measured

/** A table by its results. A title is printed as a sentence above the table. */
export type Figures = (read: Read) => { readonly title?: string; readonly rows: Table['rows'] }

/** Tables by their names. */
export type Tables = Readonly<Record<string, Figures>>

/** Reads each result once. `folder`: where results are kept. */
export function reader(folder?: URL): Read {
  const known = new Map<string, Measured>()
  return (part, long = false) => {
    const key = `${part} ${long}`
    const found = known.get(key) ?? open(part, folder, long)
    known.set(key, found)
    return found
  }
}

function open(part: string, folder: URL | undefined, long: boolean): Measured {
  const result = newest(part, folder, long)
  if (result.mode === 'quick') {
    throw new Error(
      `bench/results/${part}.json is of a quick run, which shows nothing but that it runs: ` +
        `run \`npm run bench -- ${part}\``,
    )
  }
  if ((result.form ?? 1) !== formOf(part)) {
    throw new EarlierForm(
      `bench/results/${long ? FULL : ''}${part}.json is of an earlier form of the benchmark; run ` +
        `\`npm run bench -- ${part}${long ? ' --full' : ''}\``,
    )
  }
  return { result, samples: new Samples(result.measures) }
}

/** The settings of a contender in the order in which they were measured; `metric`: if only one. */
export function settingsOf({ result }: Measured, contender: string, metric?: Metric): string[] {
  const isOf = (one: Measure): boolean =>
    one.contender === contender && (!metric || one.metric === metric.metric)
  return [...new Set(result.measures.filter(isOf).map(({ setting }) => setting))]
}

/** A table of one result. `long`: that of the run with `--full`. */
export const tableOf =
  (part: string, rows: (measured: Measured) => Table['rows'], long = false): Figures =>
  (read) => ({ rows: rows(read(part, long)) })

/** A table with a row for each setting of a contender; those that `row` leaves out are none. */
export const bySetting = (
  part: string,
  contender: string,
  row: (setting: string, samples: Samples) => Table['rows'][number] | undefined,
): Figures =>
  tableOf(part, (measured) =>
    settingsOf(measured, contender)
      .map((setting) => row(setting, measured.samples))
      .filter((one) => one !== undefined),
  )

/** Measures of a part, each of two contenders and their ratio. */
export const sideBySide = (
  part: string,
  [one, other]: readonly [string, string],
  measures: readonly (readonly [row: string, setting: string, metric: Metric])[],
): Figures =>
  tableOf(part, ({ samples }) =>
    measures.map(([measure, setting, metric]) => ({
      measure,
      [one]: shown(samples.spread(one, setting, metric)),
      [other]: shown(samples.spread(other, setting, metric)),
      [`${other} / ${one}`]: shown(samples.ratio(other, one, setting, metric)),
    })),
  )

/** Columns of a row, each a metric of a contender in a setting. */
export function columns(
  samples: Samples,
  contender: string,
  setting: string,
  metrics: Readonly<Record<string, Metric>>,
): Record<string, string> {
  return columnsOf(Object.entries(metrics), ([name, metric]) => [
    name,
    shown(samples.spread(contender, setting, metric)),
  ])
}

/** Columns of a row, one for each of `items`. */
export function columnsOf<Item>(
  items: readonly Item[],
  column: (item: Item) => readonly [name: string, cell: string],
): Record<string, string> {
  return Object.fromEntries(items.map(column))
}

/** `12.3 (11.9-12.8)`, or `12.3` where the middle half is as narrow as what is shown. */
export function shown(spread: Spread, show: (value: number) => string = number): string {
  return show(spread.low) === show(spread.high) ? show(spread.median) : withSpread(spread, show)
}

/** `94 (77-114)` of 0.938: whole percent. */
export function share(spread: Spread): string {
  return shown(spread, (ratio) => String(Math.round(ratio * 100)))
}

/** `0.55`, `58`, `0`: what is lost, in percent, to two digits. */
export function loss(percent: number): string {
  return String(Number(percent.toPrecision(2)))
}
