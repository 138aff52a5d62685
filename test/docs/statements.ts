/** Blocks of SQL: run against a database that has the tables of the package. */
import { openDatabase } from '../../src/database/open.js'
import { sharedMysqlUrl } from '../servers/shared.js'

/** The statements of a script, without its comments. No text in it may have a semicolon. */
export function statementsOf(script: string): string[] {
  return script
    .replace(/^\s*--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** @throws what the database says to the first statement that it refuses */
export async function runStatements(script: string, dialect: 'SQLite' | 'MariaDB'): Promise<void> {
  const { database } = openDatabase(
    dialect === 'SQLite' ? 'sqlite::memory:' : await sharedMysqlUrl(),
  )
  try {
    await database.migrate()
    for (const statement of statementsOf(script)) await database.query(statement)
  } finally {
    await database.close()
  }
}
