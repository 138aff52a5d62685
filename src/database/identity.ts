/**
 * Identity of a database: a random id, made with the first tables. A process that may use several
 * hosts compares it to check that another host has the same database.
 */
import { randomUUID } from 'node:crypto'
import { DatabaseError, type Queryable } from './database.js'

/** Has one row. */
export const IDENTITY_TABLE =
  'CREATE TABLE IF NOT EXISTS wide_cache_identity (only_row INTEGER NOT NULL, id VARCHAR(36) NOT ' +
  'NULL, PRIMARY KEY (only_row))'

/** Gives the database an id, if it has none. */
export async function enterIdentity(queryable: Queryable): Promise<void> {
  const { rows } = await queryable.query('SELECT id FROM wide_cache_identity')
  if (rows.length > 0) return
  await queryable.query('INSERT INTO wide_cache_identity (only_row, id) VALUES (1, ?)', [
    randomUUID(),
  ])
}

/** The id of the database; `undefined` before it has been migrated. */
export async function identityOf(query: Queryable['query']): Promise<string | undefined> {
  try {
    const {
      rows: [row],
    } = await query('SELECT id FROM wide_cache_identity')
    return row && String(row['id'])
  } catch (error) {
    // There is no table yet.
    if (error instanceof DatabaseError && error.category === 'usage') return undefined
    throw error
  }
}
