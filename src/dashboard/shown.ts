/**
 * One part of the page as a table. Its CSV and its JSON have the same rows, with the shares,
 * changes and figures of the period before that the page shows.
 */
import { csvRow } from '../support/csv.js'
import { type Download, fileName, NO_VALUE } from './downloads.js'
import { besideOf, list, type Read, spanFigures } from './figures.js'
import { hitsList } from './hits.js'
import { countOf, dimensionOf, QueryError, SUBJECT_PARAMETERS } from './query.js'
import type { DashboardHits, DashboardSource, Dated } from './source.js'
import { type Span, spanQuery } from './span.js'
import { type Subject, subjectFigures, subjectOf } from './subject.js'

type Cell = string | number | null
type Rows = Dated<readonly Readonly<Record<string, Cell>>[]>

export interface Shown {
  readonly span: Span
  /** Part of the file's name. */
  readonly what: string
  readonly columns: readonly string[]
  /** Objects with the columns as fields; `null`: not known. */
  read(): Promise<Rows>
}

/** Precision of shares and changes. */
const DIGITS = 10_000

/** Fails as the source does, because a file is sent as a whole or not at all. */
const whole: Read = async (_what, work) => work()

/** @throws QueryError */
export function shownOf(
  source: DashboardSource,
  dimensions: readonly string[],
  hits: readonly DashboardHits[],
  url: string,
  now: number,
): Shown {
  const { span, query } = spanQuery(url, now, [...SUBJECT_PARAMETERS, 'n'])
  const n = countOf(query.get('n'))
  const [dimension, name] = [query.get('dimension'), query.get('hits')]
  if (query.get('value') !== null) {
    const subject = subjectOf(query, dimensions, hits)
    if (subject) return valueShown(source, subject, span, now)
  }
  if (name !== null) {
    const one = hits.find((one) => one.name === name)
    if (!one || dimension !== null) {
      const names = hits.map((one) => one.name).join(', ')
      throw new QueryError('hits', name, `${names || 'no hits'}, without a dimension`)
    }
    return hitsShown(one, span, n, now)
  }
  if (dimension === null) return historyShown(source, span)
  return listShown(source, dimensionOf(dimension, dimensions), span, n, now)
}

function historyShown(source: DashboardSource, span: Span): Shown {
  return {
    span,
    what: span.by === 'day' ? 'days' : 'hours',
    columns: ['start', 'pageViews', 'visitors', 'bots', 'seen', 'served', 'before'],
    async read() {
      const { sums, before } = await spanFigures(source, span, whole)
      const { figures, ...dated } = sums!
      return {
        ...dated,
        figures: figures.map(({ start, ...counts }, at) => ({
          start,
          // The page has no bar for what is yet to come.
          ...(start <= dated.asOf ? counts : nothing(counts)),
          before: before?.[at]?.pageViews ?? null,
        })),
      }
    },
  }
}

function valueShown(source: DashboardSource, subject: Subject, span: Span, now: number): Shown {
  return {
    span,
    what: span.by === 'day' ? 'value-days' : 'value-hours',
    columns: ['start', 'pageViews', 'before'],
    async read() {
      const { sums, before } = await subjectFigures(source, subject, span, now, whole)
      const { figures, ...dated } = sums!
      return {
        ...dated,
        figures: figures.map(({ start, pageViews }, at) => ({
          start,
          pageViews: start <= dated.asOf ? pageViews : null,
          before: before?.[at]?.pageViews ?? null,
        })),
      }
    },
  }
}

function listShown(
  source: DashboardSource,
  dimension: string,
  span: Span,
  n: number,
  now: number,
): Shown {
  return {
    span,
    what: dimension,
    columns: ['value', 'pageViews', 'seen', 'served', 'share', 'over', 'before', 'change'],
    async read() {
      const [{ sums }, { top }] = await Promise.all([
        spanFigures(source, span, whole),
        list(source, span, { dimension, n, now }, whole),
      ])
      const total = sums!.figures.reduce((all, { pageViews }) => all + pageViews, 0)
      const { figures, ...dated } = top!
      return {
        ...dated,
        figures: figures.map(({ value, pageViews, over, before, ...beside }) => ({
          value,
          pageViews,
          ...beside,
          share: shareOf(pageViews, total),
          over: over ?? null,
          before: before ?? null,
          change: over === undefined ? null : changeOf(over, before),
        })),
      }
    },
  }
}

function hitsShown(one: DashboardHits, span: Span, n: number, now: number): Shown {
  return {
    span,
    what: one.name,
    columns: ['item', 'hits', 'share', 'over', 'before', 'change'],
    async read() {
      const { asOf, items, total } = await hitsList(one, span, { n, now }, whole)
      return {
        asOf,
        stale: false,
        figures: items!.map(({ item, hits, over, before }) => ({
          item,
          hits,
          share: total === null ? null : shareOf(hits, total),
          over: over ?? null,
          before: before ?? null,
          change: over === undefined ? null : changeOf(over, before),
        })),
      }
    },
  }
}

/** The table as a file: columns that nothing is known of are left out. */
export function shownDownload(name: string, { span, what, columns, read }: Shown): Download {
  async function* text() {
    const { figures } = await read()
    const beside = besideOf(figures)
    const known = columns.filter((one) => !isBeside(one) || beside.includes(one))
    yield csvRow(known)
    for (const row of figures) yield csvRow(known.map((column) => cellOf(column, row[column])))
  }
  return { fileName: fileName(name, what, span), text: text() }
}

function cellOf(column: string, value: Cell | undefined): Cell {
  if (column !== 'value') return value ?? null
  return value === NO_VALUE ? `'${value}` : (value ?? NO_VALUE)
}

const isBeside = (column: string): column is 'seen' | 'served' =>
  column === 'seen' || column === 'served'

function nothing(counts: object): Readonly<Record<string, null>> {
  return Object.fromEntries(Object.keys(counts).map((name) => [name, null]))
}

function shareOf(count: number, total: number): number | null {
  return total > 0 ? rounded(Math.min(1, count / total)) : null
}

function changeOf(now: number, before: number | undefined): number | null {
  return before ? rounded(now / before - 1) : null
}

const rounded = (value: number): number => Math.round(value * DIGITS) / DIGITS
