/** The database of commands that look at it: they make neither a file nor a table. */
import { existsSync } from 'node:fs'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { partStates } from '../database/schema-state.js'
import { SqliteDatabase } from '../database/sqlite/sqlite.js'
import type { Logger } from '../support/logger.js'
import { UsageError } from './arguments.js'

const MAKE = 'start a web process, or run wide-cache migrate'

/** Opens the database that a flag or the environment names, and closes it after `work`. */
export async function withDatabase<T>(
  url: string | undefined,
  logger: Logger,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { database } = openDatabase(url, logger)
  try {
    refuseMissingFile(database)
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The same, for a database that has the tables of some parts of the package. */
export function withTables<T>(
  url: string | undefined,
  logger: Logger,
  parts: readonly string[],
  work: (database: Database) => Promise<T>,
  ifThere: readonly string[] = [],
): Promise<T> {
  return withDatabase(url, logger, async (database) => {
    await refuseOtherTables(database, parts, ifThere)
    return work(database)
  })
}

/** SQLite would make an empty file. @throws Error */
function refuseMissingFile(database: Database): void {
  if (!(database instanceof SqliteDatabase) || database.file === ':memory:') return
  if (!existsSync(database.file)) {
    throw new Error(`there is no database sqlite:${database.file}; ${MAKE}`)
  }
}

/** @throws UsageError where `name` is none of `names` */
export function refuseUnknownName(name: string | undefined, names: readonly string[]): void {
  if (name === undefined || names.includes(name)) return
  const there = names.length === 0 ? 'there are none' : names.join(', ')
  throw new UsageError(`--name: no process has used it; names of this database: ${there}`)
}

/** @throws Error, DatabaseError */
async function refuseOtherTables(
  database: Database,
  parts: readonly string[],
  ifThere: readonly string[],
): Promise<void> {
  for (const { part, applied, oldest, known } of await partStates(database)) {
    const concerns = parts.includes(part) || (applied > 0 && ifThere.includes(part))
    if (!concerns || (applied >= known && oldest <= known)) continue
    if (applied === 0) {
      throw new Error(
        `the database has no tables of "${part}", or its user may not see them; ${MAKE}`,
      )
    }
    throw new Error(
      `the database's tables of "${part}" are at version ${applied}, and this wide-cache needs ` +
        `version ${known}: ` +
        (applied < known ? 'run wide-cache migrate' : 'update the package here'),
    )
  }
}
