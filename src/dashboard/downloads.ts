/**
 * The CSV files, in pieces: a long history is never held as a whole, and is read only as fast as it
 * is taken.
 */
import { DAY_MS } from '../support/clock.js'
import { csvRow } from '../support/csv.js'
import type { Period } from '../support/periods.js'
import { besideOf } from './figures.js'
import type { Counted, DashboardSource, Dated, Range, Sums } from './source.js'

/** Range of one query of the database: about 750 hours, or a year of days. */
const PIECE_MS: Readonly<Record<Period, number>> = { hour: 31 * DAY_MS, day: 366 * DAY_MS }

/** Text for visits without a value. A value that is equal to it gets an apostrophe. */
export const NO_VALUE = '(none)'

const HISTORY = ['start', 'pageViews', 'visitors', 'bots'] as const

export interface Download {
  readonly fileName: string
  readonly text: AsyncGenerator<string, void, undefined>
}

/**
 * `start,pageViews,visitors,bots` for each hour or UTC day, and `seen` or `served` where there are
 * such views.
 */
export function historyDownload(
  source: DashboardSource,
  range: Range & { readonly by: Period },
): Download {
  return {
    fileName: fileName(source.name, range.by === 'day' ? 'days' : 'hours', range),
    text: historyText(source, range),
  }
}

async function* historyText(
  source: DashboardSource,
  { from, to, by }: Range & { readonly by: Period },
): AsyncGenerator<string, void, undefined> {
  let columns: readonly (keyof Sums)[] | undefined
  for (let start = from; start < to; start += PIECE_MS[by]) {
    const end = Math.min(to, start + PIECE_MS[by])
    const { figures } = await source.history({ from: start, to: end, by })
    let text = ''
    if (!columns) {
      columns = [...HISTORY, ...besideOf(figures)]
      text += csvRow(columns)
    }
    for (const sums of figures) text += csvRow(columns.map((column) => sums[column] ?? null))
    yield text
  }
}

/** `start,pageViews` of a value or an item; empty where they are not known. */
export function subjectDownload(
  name: string,
  range: Range & { readonly by: Period },
  history: () => Promise<Dated<readonly Counted[]>>,
): Download {
  return {
    fileName: fileName(name, range.by === 'day' ? 'value-days' : 'value-hours', range),
    text: subjectText(history),
  }
}

async function* subjectText(
  history: () => Promise<Dated<readonly Counted[]>>,
): AsyncGenerator<string, void, undefined> {
  let text = csvRow(['start', 'pageViews'])
  const { figures } = await history()
  for (const { start, pageViews } of figures) text += csvRow([start, pageViews ?? ''])
  yield text
}

/**
 * `value,pageViews` for the most viewed values of a dimension, and `seen` or `served` where such
 * views are known of any.
 */
export function topDownload(
  source: DashboardSource,
  { dimension, from, to, n }: Range & { readonly dimension: string; readonly n: number },
): Download {
  return {
    fileName: fileName(source.name, dimension, { from, to }),
    text: topText(() => source.top(dimension, { from, to, n })),
  }
}

async function* topText(
  top: () => ReturnType<DashboardSource['top']>,
): AsyncGenerator<string, void, undefined> {
  const { figures } = await top()
  const beside = besideOf(figures)
  let text = csvRow(['value', 'pageViews', ...beside])
  for (const { value, pageViews, ...others } of figures) {
    const cell = value === NO_VALUE ? `'${value}` : (value ?? NO_VALUE)
    text += csvRow([cell, pageViews, ...beside.map((field) => others[field] ?? null)])
  }
  yield text
}

/** `activity-page-2026-11-01-2026-11-30.csv`: letters that need no escape in a header. */
export function fileName(name: string, what: string, { from, to }: Range): string {
  const [first, last] = [from, Math.max(from, to - 1)].map((time) =>
    new Date(time).toISOString().slice(0, 10),
  )
  return `${`${name}-${what}`.replace(/[^A-Za-z0-9_.-]/g, '_')}-${first}-${last}.csv`
}
