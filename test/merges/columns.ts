/** The columns that upserts merge, as the sources have them: those of each `table()`. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSource } from '../sources.js'

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url))

/** A column and its merge, or a list of columns that share one. */
const ONE =
  /\[\s*'(\w+)',\s*(?:'(?:add|greatest|least|or|replace)'|\{ unlessBelow: '\w+' \}),?\s*\]/g
const LIST = /\.\.\.(\w+)\.map\(\((\w+)\) => \[\2, '\w+'/g

/** Each as `folder/file.ts table.column`, the path as it is under `src/`. */
export function mergedColumns(): string[] {
  const found: string[] = []
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  // The suite for authors of adapters has a table of its own.
  for (const file of files.filter((one) => isSource(one) && !one.startsWith('testing/'))) {
    for (const call of callsOf(readFileSync(join(SOURCES, file), 'utf8'))) {
      const columns = Array.from(call.matchAll(ONE), ([, column = '']) => column)
      const lists = Array.from(call.matchAll(LIST), ([, list = '']) => `...${list}`)
      const merges = call.match(/'(?:add|greatest|least|or|replace)'|unlessBelow/g) ?? []
      assert.equal(columns.length + lists.length, merges.length, `${file}: ${call}`)
      // A table whose name is an argument merges nothing.
      const table = /^\s*'(\w+)'/.exec(call)?.[1]
      assert(table !== undefined || merges.length === 0, `${file}: ${call}`)
      found.push(...[...columns, ...lists].map((column) => `${file} ${table}.${column}`))
    }
  }
  return found
}

/** The arguments of each call of `table()`. */
function callsOf(source: string): string[] {
  return Array.from(source.matchAll(/^(?! \*).*[=:] table\(/gm), ({ index }) => {
    const from = source.indexOf('table(', index) + 6
    let to = from
    for (let open = 1; open > 0; to++) open += { '(': 1, ')': -1 }[source[to]!] ?? 0
    return source.slice(from, to - 1)
  })
}
