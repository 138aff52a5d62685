/** Reads the state of the package's tables in a database, and changes nothing. */
import { readFile } from 'node:fs/promises'
import type { Dialect, Queryable } from './database.js'
import { columnsOf } from './dialect.js'
import {
  type AppliedPart,
  appliedParts,
  type Migration,
  migrationsFolder,
  migrationsOf,
  PARTS,
  statementsIn,
} from './migrations.js'

/** The tables of a part of the package. */
export interface PartState {
  readonly part: string
  /** The newest migration that the database has; 0: none. */
  readonly applied: number
  /** Packages that know the migrations up to this one may use the tables. */
  readonly oldest: number
  /** The newest migration that this package has. */
  readonly known: number
}

/** All parts, whether the database has them or not. @throws DatabaseError */
export async function partStates(queryable: Queryable): Promise<PartState[]> {
  const columns = await columnsOf(queryable, 'wide_cache_migrations')
  const applied =
    columns.length > 0 ? await appliedParts(queryable) : new Map<string, AppliedPart>()
  const folder = migrationsFolder(queryable.dialect)
  return Promise.all(
    PARTS.map(async (part) => {
      const { version, oldest } = applied.get(part) ?? { version: 0, oldest: 0 }
      const known = (await migrationsOf(part, folder)).length
      return { part, applied: version, oldest, known }
    }),
  )
}

/** All statements that make the tables of a part. */
export async function schemaOf(dialect: Dialect, part: string): Promise<string[]> {
  const migrations: Migration[] = await migrationsOf(part, migrationsFolder(dialect))
  const texts = await Promise.all(migrations.map(({ url }) => readFile(url, 'utf8')))
  return texts.flatMap(statementsIn)
}

/** The names of the tables of a part. */
export async function tablesOf(dialect: Dialect, part: string): Promise<string[]> {
  return (await schemaOf(dialect, part)).flatMap(
    (statement) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? [],
  )
}
