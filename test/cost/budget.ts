/** The committed budget, how it is compared with what is measured, and its table in the docs. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Counts } from '../simulated-world/metered-site.js'
import { type Budget, CLASSES, COLUMNS, COUNTED_MINUTES, PROCESSES } from './situations.js'

const FILE = new URL('budget.json', import.meta.url)
export const PAGE = new URL('../../docs/contributing/cost.md', import.meta.url)

/**
 * Parts of a count, and counts, by which it may differ from its budget: processes that draw other
 * numbers, or at other moments, ask so much more or less.
 */
const MARGIN = { part: 0.05, count: 10 }
/** The same for amounts. A list of marks, say, may be read at another length. */
const AMOUNT_MARGIN = { part: 0.25, count: 200 }

/** Requests to the cache. All other kinds are statements, but for two that are amounts. */
const CACHE = ['get', 'getMany', 'set', 'add', 'append', 'delete', 'increment']
const AMOUNTS = ['keys', 'rows']

export function readBudget(): Budget {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Budget
}

/** Writes a line for each process. */
export function writeBudget(budget: Budget): void {
  const lines = (depth: number, value: object): string =>
    depth === 3
      ? JSON.stringify(Object.fromEntries(Object.entries(value).sort()))
          .replaceAll(/[,:]/g, '$& ')
          .replace(/^\{(.*)\}$/, '{ $1 }')
      : `{\n${Object.entries(value)
          .map(([key, one]) => `${' '.repeat(2 * depth + 2)}"${key}": ${lines(depth + 1, one)}`)
          .join(',\n')}\n${' '.repeat(2 * depth)}}`
  writeFileSync(FILE, `${lines(0, budget)}\n`)
}

/** Says where `measured` leaves the budget: `more` costs more, `less` makes the table untrue. */
export function compare(measured: Budget, budget: Budget): { more: string[]; less: string[] } {
  const [more, less]: [string[], string[]] = [[], []]
  const all = flat(budget)
  for (const [place, found] of Object.entries(flat(measured))) {
    const allowed = all[place] ?? {}
    for (const kind of new Set([...Object.keys(found), ...Object.keys(allowed)])) {
      const [is, was] = [found[kind] ?? 0, allowed[kind] ?? 0]
      const { part, count } = AMOUNTS.includes(kind) ? AMOUNT_MARGIN : MARGIN
      if (Math.abs(is - was) <= was * part + count) continue
      const list = is > was ? more : less
      list.push(`${place}: ${kind} ${is}, and the budget is ${was}`)
    }
  }
  return { more, less }
}

function flat(budget: Budget): Record<string, Counts> {
  return Object.fromEntries(
    Object.entries(budget).flatMap(([used, situations]) =>
      Object.entries(situations).flatMap(([situation, processes]) =>
        Object.entries(processes).map(([process, counts]) => [
          [used, situation, process].join(', '),
          counts,
        ]),
      ),
    ),
  )
}

/** Returns `text` with the table of the budget between its marks. */
export function render(text: string, budget: Budget): string {
  const table = ['', ...tableOf(budget), ''].join('\n')
  return text.replace(/(<!-- cost -->\n)[^]*?(<!-- \/cost -->)/, (_, begin, end) =>
    [begin, table, '\n', end].join(''),
  )
}

function tableOf(budget: Budget): string[] {
  const rows = CLASSES.flatMap((used) => {
    const [first, other] = PROCESSES.map((process) =>
      COLUMNS.map((situation) => cellOf(budget[used]![situation]![process]!)).join(' | '),
    )
    // Counters have no collector.
    if (budget[used]!['quiet']!['collects']!['SELECT'] === undefined) {
      return [`| \`${used}\` | ${first} |`]
    }
    return [`| \`${used}\`: collects | ${first} |`, `| does not collect | ${other} |`]
  })
  return [
    `| process | ${COLUMNS.join(' | ')} |`,
    `| --- |${' ---: |'.repeat(COLUMNS.length)}`,
    ...rows,
  ]
}

/** Requests to the cache, and statements, of a minute. */
export function sumsOf(counts: Counts): { cache: number; sql: number } {
  const sum = (isMeant: (kind: string) => boolean): number => {
    const found = Object.entries(counts).filter(([kind]) => isMeant(kind))
    return found.reduce((all, [, count]) => all + count, 0) / COUNTED_MINUTES
  }
  return {
    cache: sum((kind) => CACHE.includes(kind)),
    sql: sum((kind) => !CACHE.includes(kind) && !AMOUNTS.includes(kind)),
  }
}

function cellOf(counts: Counts): string {
  const { cache, sql } = sumsOf(counts)
  return [cache, sql].map((count) => Math.round(count).toLocaleString('en-US')).join(' + ')
}
