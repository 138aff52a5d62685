/**
 * Tables that the dashboard's paths answer with, each as CSV and as JSON with the same rows: the
 * history, the most viewed values, and what the page shows, with its shares, its changes and the
 * figures of the period before.
 */
import type { Calendar } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import { type Cell, csvRow } from '../support/csv.js'
import { type Asked, list, notesIn, spanFigures, upTo } from './figures.js'
import { hitsList } from './hits.js'
import { askedOf, wholeOf } from './lists.js'
import { countOf, historyQuery, listName, SUBJECT_PARAMETERS, topQuery } from './query.js'
import type { DashboardHits, DashboardSource, Dated, Range, Read, Totals } from './source.js'
import { type FirstDay, type Span, spanQuery } from './span.js'
import { hitsNamed, subjectFigures, subjectHistory, subjectOf } from './subject.js'

export interface Table {
  readonly range: Range
  /** The range, if it is one that the page offers. */
  readonly span?: Span
  /** Part of the file's name. */
  readonly what: string
  readonly columns: readonly string[]
  /** Objects with the columns as fields; `null`: not known. */
  read(): Promise<Dated<readonly object[]>>
}

/** What tables are made of: the source, the totals and dimensions that a request may see, hits. */
export interface Tables {
  readonly source: DashboardSource
  readonly totals: Totals
  readonly dimensions: readonly string[]
  readonly hits: readonly DashboardHits[]
  readonly firstDay: FirstDay
  readonly calendar: Calendar
}

const HISTORY = [
  'start',
  'pageViews',
  'visitors',
  'bots',
  'seen',
  'served',
  'unseen',
  'imported',
  'note',
]
/** Columns that are left out where no row has them. */
const IF_ANY = ['bots', 'seen', 'served', 'unseen', 'imported', 'note']
const OF_VALUE = ['start', 'pageViews']
/** Text for visits without a value. A value that is equal to it gets an apostrophe. */
const NO_VALUE = '(none)'
/** Precision of shares and changes. */
const DIGITS = 10_000

/** Fails as the source does, because a table is sent as a whole or not at all. */
const whole: Read = async (_what, work) => work()

/** @throws QueryError */
export function historyTable(
  { source, dimensions, hits, calendar }: Tables,
  url: string,
  now: number,
): Table {
  const { query, range } = historyQuery(url, now, calendar)
  const subject = subjectOf(query, dimensions, hits)
  return {
    range,
    what: `${subject ? 'value-' : ''}${range.by}s`,
    columns: subject ? OF_VALUE : HISTORY,
    read: async () => {
      if (subject) {
        return upTo(range.to, await subjectHistory(source, subject, range, { now, calendar }))
      }
      const [history, notes] = await Promise.all([source.history(range), source.notes(range)])
      const { figures } = history
      return upTo(range.to, { ...history, figures: noted(figures, notesIn(figures, notes)) })
    },
  }
}

/** Periods with the notes on their days. */
function noted<One extends { readonly start: string }>(
  periods: readonly One[],
  texts: readonly string[],
): readonly (One & { readonly note?: string })[] {
  return periods.map((one, at) => (texts[at] ? { ...one, note: texts[at] } : one))
}

/** @throws QueryError */
export function topTable(
  { source, dimensions, calendar }: Tables,
  url: string,
  now: number,
): Table {
  const { dimension, ...range } = topQuery(url, now, dimensions, calendar)
  return {
    range,
    what: dimension,
    columns: ['value', 'pageViews', 'seen', 'served'],
    read: async () => {
      const { dimension: of, ...asked } = askedOf(dimension)
      return upTo(range.to, await source.top(of, { ...range, ...asked }))
    },
  }
}

/** @throws QueryError */
export async function shownTable(tables: Tables, url: string, now: number): Promise<Table> {
  const { dimensions, hits, firstDay, calendar } = tables
  const others = [...SUBJECT_PARAMETERS, 'n']
  const { span, query } = await spanQuery(url, others, { now, calendar, firstDay })
  const n = countOf(query.get('n'))
  const [dimension, name] = [query.get('dimension'), query.get('hits')]
  if (query.get('value') !== null || (name === null && dimension === null)) {
    return shownHistory(tables, span, query, now)
  }
  if (name === null) {
    return shownList(tables, listName(dimension, dimensions), span, { n, now, calendar })
  }
  return shownHits(hitsNamed(name, dimension, hits), span, { n, now, calendar })
}

function shownHistory(
  { source, totals, dimensions, hits, calendar }: Tables,
  span: Span,
  query: URLSearchParams,
  now: number,
): Table {
  const subject = subjectOf(query, dimensions, hits)
  return {
    range: span,
    span,
    what: `${subject ? 'value-' : ''}${span.by}s`,
    columns: [...(subject ? OF_VALUE : HISTORY), 'before'],
    async read() {
      const { sums, before, notes } = subject
        ? { ...(await subjectFigures(source, subject, span, { now, calendar }, whole)), notes: [] }
        : await spanFigures(totals, span, calendar, whole)
      const { figures, ...dated } = sums!
      const rows = figures.map(({ start, ...counts }, at) => ({
        start,
        // The page has no bar for what is yet to come.
        ...(Date.parse(start) <= Date.parse(dated.asOf) ? counts : nothing(counts)),
        before: before?.[at] ?? null,
      }))
      return { ...dated, figures: noted(rows, notes) }
    },
  }
}

const COMPARED = ['share', 'over', 'before', 'change']

function shownList({ source }: Tables, dimension: string, span: Span, asked: Asked): Table {
  return {
    range: span,
    span,
    what: dimension,
    columns: ['value', 'pageViews', 'seen', 'served', ...COMPARED],
    async read() {
      const [{ sums }, { top }] = await Promise.all([
        spanFigures(source, span, asked.calendar, whole),
        list(source, span, { dimension, ...asked }, whole),
      ])
      const of = wholeOf(dimension)
      const total = of ? sums!.figures.reduce((all, one) => all + (one[of] ?? 0), 0) : null
      const { figures, ...dated } = top!
      const rows = figures.map((one) => ({ ...one, ...compared(one.pageViews, total, one) }))
      return { ...dated, figures: rows }
    },
  }
}

function shownHits(one: DashboardHits, span: Span, asked: Asked): Table {
  return {
    range: span,
    span,
    what: one.name,
    columns: ['item', 'hits', ...COMPARED],
    async read() {
      const { asOf, items, total } = await hitsList(one, span, asked, whole)
      const rows = items!.map((item) => ({ ...item, ...compared(item.hits, total, item) }))
      return { asOf, stale: false, figures: rows }
    },
  }
}

function compared(
  count: number,
  total: number | null,
  { over, before }: { readonly over?: number; readonly before?: number },
) {
  return {
    share: total ? rounded(Math.min(1, count / total)) : null,
    over: over ?? null,
    before: before ?? null,
    change: over !== undefined && before ? rounded(over / before - 1) : null,
  }
}

const rounded = (value: number): number => Math.round(value * DIGITS) / DIGITS

function nothing(counts: object): Readonly<Record<string, null>> {
  return Object.fromEntries(Object.keys(counts).map((name) => [name, null]))
}

/** A table as CSV. Columns of measures that no row has are left out. */
export function csvOf({ columns }: Table, rows: readonly object[]): string {
  const cells = rows as readonly Readonly<Record<string, Cell | undefined>>[]
  const known = columns.filter(
    (one) => !IF_ANY.includes(one) || cells.some((row) => row[one] !== undefined),
  )
  const lines = cells.map((row) => known.map((column) => cellOf(column, row[column] ?? null)))
  return [known, ...lines].map(csvRow).join('')
}

function cellOf(column: string, value: Cell): Cell {
  if (column !== 'value') return value
  return value === NO_VALUE ? `'${value}` : (value ?? NO_VALUE)
}

/** `activity-page-2026-11-01-2026-11-30.csv`: letters that need no escape in a header. */
export function fileName(
  name: string,
  { what, range: { from, to } }: Table,
  calendar: Calendar,
): string {
  const [first, last] = [from, Math.max(from, to - 1)].map((time) => dayText(calendar.dayOf(time)))
  return `${`${name}-${what}`.replace(/[^A-Za-z0-9_.-]/g, '_')}-${first}-${last}.csv`
}
