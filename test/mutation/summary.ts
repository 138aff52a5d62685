/** Result of one folder. */
export interface Row {
  readonly part: string
  readonly mutants: number
  readonly found: number
  /** Of those found: a judge did not end in time. */
  readonly timedOut: number
  /** Of the survivors. */
  readonly explained: number
  readonly seconds: number
}

const NUMBERS = ['mutants', 'found', 'timedOut', 'explained', 'seconds'] as const

/** A table of all folders. */
export function table(rows: readonly Row[]): string {
  const all = rows.reduce(
    (sum, row) => ({
      part: 'all',
      ...(Object.fromEntries(NUMBERS.map((name) => [name, sum[name] + row[name]])) as NumbersOfRow),
    }),
    { part: 'all', mutants: 0, found: 0, timedOut: 0, explained: 0, seconds: 0 },
  )
  return [
    '| folder | mutants | found | of them timed out | survivors explained | seconds |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...[...rows, all].map(lineOf),
  ].join('\n')
}

type NumbersOfRow = Omit<Row, 'part'>

function lineOf({ part, mutants, found, timedOut, explained, seconds }: Row): string {
  const percent = mutants === 0 ? '' : ` (${Math.round((100 * found) / mutants)} %)`
  const explanations = `${explained} of ${mutants - found}`
  const cells = [`\`${part}\``, mutants, `${found}${percent}`, timedOut, explanations, seconds]
  return `| ${cells.join(' | ')} |`
}
