/** Figures as text for a terminal: columns that stand below each other. */
import { printable } from '../support/printable.js'

type Cell = string | number

/** The widest line, which any terminal shows without breaking it. */
const MAX_LINE = 80
const GAP = '  '

/**
 * Rows as lines. Numbers stand to the right, texts to the left; the last column is cut where a line
 * would be wider than 80 characters.
 */
export function textTable(rows: readonly (readonly Cell[])[], indent = ''): string {
  const texts = rows.map((row) => row.map((cell) => printable(String(cell))))
  const widths: number[] = []
  for (const row of texts) {
    for (const [column, text] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, text.length)
    }
  }
  return texts
    .map((row, at) => {
      const cells = row.map((text, column) => {
        const width = widths[column] ?? 0
        return typeof rows[at]?.[column] === 'number' ? text.padStart(width) : text.padEnd(width)
      })
      return `${cut(`${indent}${cells.join(GAP)}`.trimEnd())}\n`
    })
    .join('')
}

/** `1234567` as `1,234,567`; of things that are named, `1 frame` or `2 frames`. */
export function amount(count: number, what?: string): string {
  const number = count.toLocaleString('en-US')
  return what === undefined ? number : `${number} ${what}${count === 1 ? '' : 's'}`
}

/** A moment without milliseconds; what is no time of a database is shown as it is. */
export function isoOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace(/\.\d+Z$/, 'Z')
}

function cut(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE - 1)}…` : line
}
