/** Lists, queues again and gives up updates for which `combine` has failed. */
import {
  type Parked,
  type ParkedActions,
  type ParkedQuery,
  whereParked,
} from '../buckets/parked.js'
import { hashOf } from '../buckets/encoding.js'
import type { Database, Queryable } from '../database/database.js'
import { forUpdate } from '../database/dialect.js'
import { bytes, execute, raw, select, selectOne, sql } from '../database/sql.js'
import { table } from '../database/table.js'

const QUEUE = table('collision_free_map_queue', ['map', 'hash', 'map_key', 'map_value'])

const UPDATE = {
  id: Number,
  name: [String, 'map'],
  failedAt: [Number, 'parked_at'],
  reason: String,
  key: [bytes, 'map_key'],
  value: [bytes, 'map_value'],
} as const

export async function parkedUpdates(database: Queryable, query: ParkedQuery): Promise<Parked[]> {
  const updates = await select(database, UPDATE)`FROM collision_free_map_parked
    WHERE ${whereParked('map', 'id', query)} ORDER BY id LIMIT ${query.limit}`
  return updates.map((update) => ({ kind: 'update', failures: 1, entries: 1, ...update }))
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
  const { name, key, id } = parked
  const ofKey = sql`WHERE map = ${name} AND hash = ${hashOf(key)} AND map_key = ${key}`
  const [stored, queued] = await Promise.all([
    selectOne(database, { mapValue: bytes })`FROM collision_free_map_values ${ofKey}`,
    selectOne(database, {
      later: [Number, 'COUNT(*)'],
    })`FROM collision_free_map_queue ${ofKey} AND id > ${id}`,
  ])
  return { value: stored?.mapValue, later: queued!.later }
}

export function parkedUpdateActions(database: Database): ParkedActions {
  /** Takes it out of the table. `again`: queues it, behind what is queued by now. */
  const remove = (parked: Parked, again: boolean): Promise<string | undefined> =>
    database.transaction(async (tx) => {
      const place = sql`FROM collision_free_map_parked
        WHERE map = ${parked.name} AND id = ${parked.id}`
      const row = await selectOne(tx, { hash: Number })`${place}${raw(forUpdate(tx.dialect))}`
      if (!row) return 'it is no longer there'
      if (again) await QUEUE.insert(tx, [[parked.name, row.hash, parked.key, parked.value]])
      await execute(tx)`DELETE ${place}`
      return undefined
    })
  return { retry: (parked) => remove(parked, true), skip: (parked) => remove(parked, false) }
}
