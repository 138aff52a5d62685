/** Processes that differ leave the same rows, in whatever order they come. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Site } from '../readers/site.js'
import { mergedColumns } from './columns.js'
import { type Meeting, MEETINGS, NOW, OTHERS } from './meetings.js'

/** Columns that have the name of what is counted, where it is not `name`. */
const NAMED: Readonly<Record<string, string>> = {
  collision_free_map_values: 'map',
  export_queue_versions: 'queue',
}

const site = new Site(NOW)
let names = 1_000
after(() => site.close())

/** The values of the columns in which processes meet, in the order of the rows. */
async function left(
  { leaves, before }: Meeting,
  processes: Meeting['processes'],
): Promise<Meeting['leaves']> {
  const name = `meeting-${names++}`
  await site.database.migrate()
  await before?.(site, name)
  for (const work of processes) await work(site, name)
  const found: Record<string, Record<string, string>> = {}
  for (const [table, columns] of Object.entries(leaves)) {
    const key = await site.database.query(
      `SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`,
    )
    const order = key.rows.map(({ name }) => String(name)).join(', ')
    const sql = `SELECT * FROM ${table} WHERE ${NAMED[table] ?? 'name'} LIKE ? ORDER BY ${order}`
    const { rows } = await site.database.query(sql, [`%${name}`])
    const valuesOf = (column: string): string => rows.map((row) => String(row[column])).join(' ')
    found[table] = Object.fromEntries(
      Object.keys(columns).map((column) => [column, valuesOf(column)]),
    )
  }
  return found
}

function orders<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]]
  return all.flatMap((first) =>
    orders(all.filter((one) => one !== first)).map((rest) => [first, ...rest]),
  )
}

for (const meeting of MEETINGS) {
  test(`in all orders: ${meeting.what}`, async () => {
    for (const processes of orders(meeting.processes)) {
      const order = processes.map((work) => meeting.processes.indexOf(work)).join(' ')
      assert.deepEqual(await left(meeting, processes), meeting.leaves, order)
    }
  })
}

test('every column that is merged has a meeting, or a reason why not', async () => {
  const settings = await site.database.query(
    "SELECT name FROM pragma_table_info('wide_cache_names')",
  )
  const merged = [
    ...mergedColumns().map((column) => column.replace(/^\S+ /, '')),
    ...settings.rows.map(({ name }) => `wide_cache_names.${String(name)}`),
  ].filter((column) => !/\.(?:name|grid_name|kind|safe_at)$/.test(column))
  const met = MEETINGS.flatMap(({ leaves }) =>
    Object.entries(leaves).flatMap(([table, columns]) =>
      Object.keys(columns).map((column) => `${table}.${column}`),
    ),
  )
  const known = [...met, ...Object.keys(OTHERS)]
  assert.deepEqual([...new Set(known)].sort(), [...new Set(merged)].sort())
})
