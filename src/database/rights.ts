/** Checks what the user of a database may do to tables, with statements that match no row. */
import { DatabaseError, type Queryable } from './database.js'
import { columnsOf } from './dialect.js'

/** Rights that the package needs on a table that it reads and writes. */
export const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const
export type Right = (typeof RIGHTS)[number]

const PROBES: Readonly<Record<Right, (table: string, column: string) => string>> = {
  SELECT: (table) => `SELECT 1 FROM ${table} WHERE 1 = 0`,
  INSERT: (table) => `INSERT INTO ${table} SELECT * FROM ${table} WHERE 1 = 0`,
  UPDATE: (table, column) => `UPDATE ${table} SET ${column} = ${column} WHERE 1 = 0`,
  DELETE: (table) => `DELETE FROM ${table} WHERE 1 = 0`,
}

/** A right that the user does not have, or that is of no use, as on a read-only server. */
export interface Refusal {
  readonly table: string
  readonly right: Right
  readonly error: DatabaseError
}

/**
 * Tries each right on `tables`. Returns those that are refused, all of them for a missing table.
 *
 * @throws DatabaseError where the database does not answer
 */
export async function refusedRights(
  queryable: Pick<Queryable, 'dialect' | 'query'>,
  tables: readonly string[],
): Promise<Refusal[]> {
  const refusals: Refusal[] = []
  for (const table of tables) {
    const [column = 'missing'] = await columnsOf(queryable, table)
    for (const right of RIGHTS) {
      try {
        await queryable.query(PROBES[right](table, column))
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.category === 'unreachable') throw error
        refusals.push({ table, right, error })
      }
    }
  }
  return refusals
}
