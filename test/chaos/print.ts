/** Prints a run as two tables, and what is broken once more below them. */
import type { Check } from './checks.js'
import type { ChaosReport } from './chaos.js'

/** Prints, and says whether all checks hold. */
export function printReport({ checks, figures }: ChaosReport, again: string): boolean {
  print([['', 'number'], ...Object.entries(figures).map(([name, value]) => [name, String(value)])])
  print([
    ['check', 'expected', 'found', ''],
    ...checks.map((check) => [...cells(check), check.ok ? 'ok' : 'BROKEN']),
  ])
  const broken = checks.filter(({ ok }) => !ok)
  if (broken.length === 0) return true
  console.log(`${broken.length} of ${checks.length} checks are broken:`)
  for (const { name, expected, found } of broken) {
    console.log(`  ${name}: expected ${expected}, found ${found}`)
  }
  console.log(`The same faults again: ${again}`)
  return false
}

function cells({ name, expected, found }: Check): string[] {
  return [name, expected, String(found)]
}

function print(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
  }
  console.log()
}
