/** Updates and entries that a map or an export queue cannot process by itself, for operators. */
import { joined, raw, sql, type Sql } from '../database/sql.js'

/** A parked update, or the first entry of a batch that the exporter has failed at. */
export interface Parked {
  readonly kind: 'update' | 'entry'
  readonly id: number
  /** The id of the map or export queue. */
  readonly name: string
  /** Times that it has failed in a row. */
  readonly failures: number
  /** Entries that the last failure was about, itself included. 1: it is this one. */
  readonly entries: number
  /** Milliseconds since the Unix epoch, by the database's clock. */
  readonly failedAt: number
  readonly reason: string
  readonly key: Buffer
  readonly value: Buffer
}

/** Selection of parked updates and entries, in ascending order of their ids. */
export interface ParkedQuery {
  readonly name?: string | undefined
  readonly id?: number | undefined
  readonly limit: number
}

/** Actions of an operator. Each returns the reason why it was not done, or `undefined`. */
export interface ParkedActions {
  /** Has it processed again. */
  retry(parked: Parked): Promise<string | undefined>
  /** Removes it for good. */
  skip(parked: Parked): Promise<string | undefined>
}

/** The condition of a query. */
export function whereParked(nameColumn: string, idColumn: string, { name, id }: ParkedQuery): Sql {
  return joined(
    [
      sql`1 = 1`,
      ...(name === undefined ? [] : [sql`${raw(nameColumn)} = ${name}`]),
      ...(id === undefined ? [] : [sql`${raw(idColumn)} = ${id}`]),
    ],
    ' AND ',
  )
}
