/** Size of a row of each table of the activity on the disk, with its indexes. */
import type { Connection } from 'mysql2/promise'
import { rowOf } from '../harness/sql.js'

/** So many that the pages of a table that are not full do not show. */
const ROWS = 50_000

const PAGE = "CONCAT('/forum/threads/', 1000 + 37 * (seq % 500), '-a-title-of-some-length')"
const VISITOR = 'LEFT(UNHEX(SHA1(seq)), 12)'

/** Columns and values of row number `seq`. Visitors come in no order, all else in that of time. */
const TABLES = {
  activities: [
    'name, created_at, number, visitor, page',
    `'activity', 1e12 + seq, seq, ${VISITOR}, ${PAGE}`,
  ],
  activity_seconds: ['name, second, views', "'activity', 1e9 + seq, 1"],
  activity_visitors: [
    'name, day, visitor, last_second, last_slice, hours',
    `'activity', 20000, ${VISITOR}, 1e9 + seq, (1e9 + seq) DIV 300, 1`,
  ],
  activity_hours: ['name, hour, views, late, visitors', "'activity', seq, 1, 0, 1"],
  activity_days: ['name, day, views, late, visitors', "'activity', seq, 1, 0, 1"],
  activity_hour_values: [
    'name, dimension, hour, value, views',
    `'activity', 'page', seq DIV 500, ${PAGE}, 1`,
  ],
  activity_day_values: [
    'name, dimension, day, value, views',
    `'activity', 'page', seq DIV 500, ${PAGE}, 1`,
  ],
} as const

/** Fills the tables of a database that nobody uses. Returns the bytes of a row of each. */
export async function sizesOf(sql: Connection, database: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const [table, [columns, values]] of Object.entries(TABLES)) {
    await sql.query(`TRUNCATE ${database}.${table}`)
    await sql.query(
      `INSERT INTO ${database}.${table} (${columns}) SELECT ${values} FROM seq_1_to_${ROWS}`,
    )
    await sql.query(`ANALYZE TABLE ${database}.${table}`)
    const { bytes } = await rowOf<'bytes'>(
      sql,
      'SELECT data_length + index_length AS bytes FROM information_schema.tables ' +
        'WHERE table_schema = ? AND table_name = ?',
      [database, table],
    )
    sizes.set(table, bytes / ROWS)
  }
  return sizes
}
