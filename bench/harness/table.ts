/** Tables as a terminal and a README both show them. */
import type { Spread } from './statistics.js'

export interface Table {
  readonly title: string
  readonly rows: readonly Readonly<Record<string, string | number>>[]
}

/** In Markdown, with columns aligned: the first to the left, all others to the right. */
export function markdown({ title, rows }: Table): string {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))]
  const widths = columns.map((_, at) => Math.max(3, ...cells.map((row) => row[at]!.length)))
  const aligned = (cell: string, at: number): string =>
    at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)
  const rules = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  const lines = cells.map((row) => `| ${row.map(aligned).join(' | ')} |`)
  lines.splice(1, 0, `| ${rules.join(' | ')} |`)
  return `${title}\n\n${lines.join('\n')}\n`
}

/**
 * The lines of a table of Markdown for a file: cells as short as they are, so that a new figure
 * changes its own line only. Columns of figures are aligned to the right.
 */
export function compact(rows: Table['rows']): string[] {
  const columns = Object.keys(rows[0] ?? {})
  const cell = (row: Table['rows'][number], column: string): string =>
    String(row[column] ?? '').replaceAll('|', '\\|')
  const isOfFigures = (column: string): boolean =>
    rows.every((row) => /^(?:-?\d|$)/.test(cell(row, column)))
  return [
    columns,
    columns.map((column, at) => (at > 0 && isOfFigures(column) ? '---:' : '---')),
    ...rows.map((row) => columns.map((column) => cell(row, column))),
  ].map((cells) => `| ${cells.join(' | ')} |`)
}

/** `1,234,567`, `12.3`, `0.0123`: three digits, or all of a whole number. */
export function number(value: number): string {
  return Math.abs(value) >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)))
}

/** `12.3 (11.9-12.8)`, `1.2 (-0.3 to 2)`: the median and the middle half. */
export function withSpread({ median, low, high }: Spread, show = number): string {
  return `${show(median)} (${show(low)}${low < 0 ? ' to ' : '-'}${show(high)})`
}

/**
 * A cost with its interval: `14 (9.1-18)`; `less than 3.1` where it cannot be told from none, and
 * `not measurable` where it would be less than nothing.
 */
export function costText(cost: Spread): string {
  if (cost.low > 0) return withSpread(cost)
  return cost.high > 0 ? `less than ${number(cost.high)}` : 'not measurable'
}

/** `93 %` of 0.93. */
export function percent(ratio: number): string {
  return `${number(Number((ratio * 100).toPrecision(3)))} %`
}
