/**
 * The row of a lane in SQL, with the number that its last committed transaction has entered. Rows
 * are made for each lane, and removed long after their lanes are out of use.
 */
import { DAY_MS } from '../support/clock.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable } from '../database/database.js'
import { type RowUpdate } from '../database/dialect.js'
import { execute, sql } from '../database/sql.js'
import { table } from '../database/table.js'

const LANES = table('sharded_counter_lanes', ['lane'], 'sequence', 'created_at')

/** A lane is left for a new one after so long, so that its row is known to be out of use later. */
export const LANE_MS: number = DAY_MS
/** Rows are kept so long after their creation. */
const KEPT_MS = 30 * DAY_MS
/** Old rows that a new lane removes. */
const REMOVED_AT_ONCE = 100

/** Makes the row of a new lane, and removes some old ones. */
export async function openLane(database: PreparedDatabase, id: Buffer): Promise<void> {
  await database.migrate()
  const now = await database.now()
  await LANES.insert(database, [[id, 0, now]])
  const { rows } = await execute(database)`SELECT lane FROM sharded_counter_lanes
    WHERE created_at < ${now - KEPT_MS} ORDER BY created_at LIMIT ${REMOVED_AT_ONCE}`
  const old = rows.flatMap(({ lane }) => lane ?? [])
  if (old.length === 0) return
  await execute(database)`DELETE FROM sharded_counter_lanes WHERE lane IN (${old})`
}

/** Enters `sequence`. It matches no row unless the number before it is the last one entered. */
export function entryOf(id: Buffer, sequence: number): RowUpdate {
  return {
    table: 'sharded_counter_lanes',
    set: sql`sequence = ${sequence}`,
    where: sql`lane = ${id} AND sequence = ${sequence - 1}`,
  }
}

/** Tells whether `sequence` is the last number entered. */
export async function isEntered(
  on: Pick<Queryable, 'query'>,
  id: Buffer,
  sequence: number,
): Promise<boolean> {
  const { rows } = await execute(on)`SELECT sequence FROM sharded_counter_lanes WHERE lane = ${id}`
  return rows[0]?.['sequence'] === sequence
}
