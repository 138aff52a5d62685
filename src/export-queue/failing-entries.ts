/** Lists, retries and gives up entries that the exporter fails at. */
import {
  type Parked,
  type ParkedActions,
  type ParkedQuery,
  whereParked,
} from '../buckets/parked.js'
import type { Database, Queryable } from '../database/database.js'
import { bytes, execute, raw, select, type Sql, sql } from '../database/sql.js'

/** Entries of one call of the exporter. */
const MOST_ENTRIES = 500
/** Each failure makes the next batch so many times smaller. */
const NARROWED = 4

/** Version of an entry in the table before it is given one. All versions are below it. */
export const NO_VERSION = Number.MAX_SAFE_INTEGER

/** Entries of a call after a number of failures in a row: 500, 125, 31, 7, 1. */
export function entriesAfter(failures: number): number {
  return Math.max(1, Math.floor(MOST_ENTRIES / NARROWED ** failures))
}

/**
 * The first entry of each range whose exporter has failed last: all others wait behind it. One that
 * was added since has no version, and was not in that call, whatever its hash.
 */
const FIRST =
  'FROM export_queue_leases AS l JOIN export_queue_entries AS e ON e.id = (SELECT id FROM ' +
  'export_queue_entries AS f WHERE f.queue = l.queue AND f.hash BETWEEN l.first_hash AND ' +
  `l.last_hash AND f.version < ${NO_VERSION} ORDER BY f.hash, f.version, f.id LIMIT 1) ` +
  'WHERE l.failures > 0'

const FAILING = {
  id: [Number, 'e.id'],
  name: [String, 'l.queue'],
  failures: Number,
  failedAt: Number,
  reason: String,
  key: [bytes, 'entry_key'],
  value: [bytes, 'entry_value'],
  waiting: [
    Number,
    '(SELECT COUNT(*) FROM export_queue_entries AS w WHERE w.queue = l.queue AND w.hash BETWEEN ' +
      `l.first_hash AND l.last_hash AND w.version < ${NO_VERSION})`,
  ],
} as const

export async function failingEntries(database: Queryable, query: ParkedQuery): Promise<Parked[]> {
  const where = whereParked('l.queue', 'e.id', query)
  const found = await select(
    database,
    FAILING,
  )`${raw(FIRST)} AND ${where} ORDER BY e.id LIMIT ${query.limit}`
  return found.map(({ waiting, ...entry }) => {
    const entries = Math.min(waiting, entriesAfter(entry.failures - 1))
    return { kind: 'entry', ...entry, entries }
  })
}

/** The lease on an entry's range, if nobody is at work there. */
function resting(name: string, id: number): Sql {
  return sql`queue = ${name} AND resting = 1 AND (
    SELECT hash FROM export_queue_entries WHERE id = ${id}) BETWEEN first_hash AND last_hash`
}

const NOT_RESTING = 'the exporter is at work at it, or has exported it'

export function failingEntryActions(database: Database): ParkedActions {
  return {
    async retry({ name, id }) {
      const { affectedRows } = await execute(database)`UPDATE export_queue_leases
        SET held_until = 0 WHERE ${resting(name, id)}`
      return affectedRows > 0 ? undefined : NOT_RESTING
    },
    async skip({ name, id, entries }) {
      if (entries > 1) {
        return (
          `the last call had ${entries} entries or fewer, and it is not known which one of them ` +
          'fails; the next calls have fewer'
        )
      }
      return database.transaction(async (tx) => {
        const { affectedRows } = await execute(tx)`DELETE FROM export_queue_leases
          WHERE ${resting(name, id)}`
        // A failure of the call at work would be taken for one of the next entry.
        if (affectedRows === 0) return NOT_RESTING
        await execute(tx)`DELETE FROM export_queue_entries WHERE queue = ${name} AND id = ${id}`
        return undefined
      })
    },
  }
}
