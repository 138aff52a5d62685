/** Lists, queues again and gives up updates for which `combine` has failed. */
import {
  type Parked,
  type ParkedActions,
  type ParkedQuery,
  whereParked,
} from '../buckets/parked.js'
import { hashOf } from '../buckets/encoding.js'
import { bytesOf } from '../buckets/statements.js'
import type { Database, Queryable } from '../database/database.js'
import { forUpdate } from '../database/dialect.js'
import { table } from '../database/table.js'

const PARKED = 'collision_free_map_parked'
const QUEUE = table('collision_free_map_queue', ['map', 'hash', 'map_key', 'map_value'])

export async function parkedUpdates(database: Queryable, query: ParkedQuery): Promise<Parked[]> {
  const [where, values] = whereParked('map', 'id', query)
  const { rows } = await database.query(
    `SELECT id, map, map_key, map_value, reason, parked_at FROM ${PARKED} ` +
      `WHERE ${where} ORDER BY id LIMIT ?`,
    [...values, query.limit],
  )
  return rows.map((row) => ({
    kind: 'update',
    id: Number(row['id']),
    name: String(row['map']),
    failures: 1,
    entries: 1,
    failedAt: Number(row['parked_at']),
    reason: String(row['reason']),
    key: bytesOf(row, 'map_key'),
    value: bytesOf(row, 'map_value'),
  }))
}

/** State of a key beside a parked update of it. */
export interface KeyState {
  /** The value without what is queued; `undefined`: there is none. */
  readonly value: Buffer | undefined
  /** Queued updates that are later than the parked one. */
  readonly later: number
}

/**
 * Returns the state of the key of a parked update. SQL does not have which updates a value is of,
 * because an update that leaves a value as it is writes nothing.
 */
export async function keyStateOf(database: Queryable, parked: Parked): Promise<KeyState> {
  const key = [parked.name, hashOf(parked.key), parked.key]
  const [values, queued] = await Promise.all([
    database.query(
      'SELECT map_value FROM collision_free_map_values ' +
        'WHERE map = ? AND hash = ? AND map_key = ?',
      key,
    ),
    database.query(
      'SELECT COUNT(*) AS later FROM collision_free_map_queue ' +
        'WHERE map = ? AND hash = ? AND map_key = ? AND id > ?',
      [...key, parked.id],
    ),
  ])
  const [row] = values.rows
  return { value: row && bytesOf(row, 'map_value'), later: Number(queued.rows[0]?.['later']) }
}

export function parkedUpdateActions(database: Database): ParkedActions {
  /** Takes it out of the table. `again`: queues it, behind what is queued by now. */
  const remove = (parked: Parked, again: boolean): Promise<string | undefined> =>
    database.transaction(async (tx) => {
      const place = [parked.name, parked.id]
      const {
        rows: [row],
      } = await tx.query(
        `SELECT hash FROM ${PARKED} WHERE map = ? AND id = ?${forUpdate(tx.dialect)}`,
        place,
      )
      if (!row) return 'it is no longer there'
      if (again) {
        await QUEUE.insert(tx, [[parked.name, Number(row['hash']), parked.key, parked.value]])
      }
      await tx.query(`DELETE FROM ${PARKED} WHERE map = ? AND id = ?`, place)
      return undefined
    })
  return { retry: (parked) => remove(parked, true), skip: (parked) => remove(parked, false) }
}
