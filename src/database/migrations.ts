/**
 * Brings a schema up to date: the numbered files of `sql/<dialect>/` are its history, applied forward only
 * and recorded in `wide_cache_migrations`. One process at a time works, the others wait for it. In MySQL,
 * where DDL commits by itself, a file is written so that it can be run again after a crash half-way.
 */
import assert from 'node:assert/strict'
import { readFile, readdir } from 'node:fs/promises'
import { packageFile } from '../support/package-file.js'
import { DatabaseError, type Dialect, type Queryable } from './database.js'

/** How long a process waits for another one that is migrating. */
export const MIGRATION_LOCK_SECONDS = 30
const FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/

/** A database that lets one caller at a time, of all processes, change its tables. */
export interface MigrationHost extends Pick<Queryable, 'query'> {
  /** Rejects with kind `lock` when others hold the tables too long. */
  exclusively<T>(work: (queryable: Queryable) => Promise<T>): Promise<T>
}

interface Migration {
  readonly version: number
  readonly name: string
  readonly url: URL
}

/** Where the package keeps the schema of a dialect; the same path from `src/` and from `dist/`. */
export function migrationsFolder(dialect: Dialect): URL {
  return packageFile(`../sql/${dialect}/`)
}

/** The error of a process that has waited for another one's migration in vain. */
export function migrationsBusy(): DatabaseError {
  const message = `Another process has been migrating the database for more than ${MIGRATION_LOCK_SECONDS} s; try again when it is done`
  return new DatabaseError('DATABASE_MIGRATING', 'lock', message)
}

/**
 * Applies the migrations of `folder` that the database does not have yet.
 *
 * @throws DatabaseError `DATABASE_NEWER` if it has some that `folder` does not have; `DATABASE_MIGRATING`
 */
export async function migrate(host: MigrationHost, folder: URL): Promise<void> {
  const migrations = await migrationsIn(folder)
  // First without a lock and without DDL, which the user of a web process may have no right to.
  if (await versionOf(host).catch(noneYet) === migrations.length) return
  const deadline = performance.now() + MIGRATION_LOCK_SECONDS * 1_000
  for (;;) {
    try {
      return await host.exclusively((queryable) => bringUp(queryable, migrations))
    } catch (error) {
      if (!(error instanceof DatabaseError && error.kind === 'lock')) throw error
      if (performance.now() > deadline) throw migrationsBusy()
    }
  }
}

async function bringUp(queryable: Queryable, migrations: readonly Migration[]): Promise<void> {
  await queryable.query(
    'CREATE TABLE IF NOT EXISTS wide_cache_migrations (version INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL, applied_at BIGINT NOT NULL)',
  )
  const current = await versionOf(queryable)
  if (current > migrations.length) throw newer(current, migrations.length)
  for (const { version, name, url } of migrations.slice(current)) {
    for (const statement of statementsIn(await readFile(url, 'utf8'))) await queryable.query(statement)
    const now = await queryable.now()
    await queryable.query('INSERT INTO wide_cache_migrations (version, name, applied_at) VALUES (?, ?, ?)', [version, name, now])
  }
}

async function versionOf(queryable: Pick<Queryable, 'query'>): Promise<number> {
  const { rows } = await queryable.query('SELECT COALESCE(MAX(version), 0) AS version FROM wide_cache_migrations')
  const current = rows[0]?.['version']
  assert(typeof current === 'number')
  return current
}

/** There is no table yet, or it may not be read; to migrate will tell. */
function noneYet(error: unknown): undefined {
  if (!(error instanceof DatabaseError && error.kind === 'usage')) throw error
}

function newer(current: number, known: number): DatabaseError {
  const message =
    `The database's tables are at version ${current}, this wide-cache knows them up to version ${known}: ` +
    'a newer wide-cache has migrated it. Update the package here; tables are never migrated backwards'
  return new DatabaseError('DATABASE_NEWER', 'usage', message)
}

async function migrationsIn(folder: URL): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return files.map((file, index) => {
    const [, digits, name] = FILE.exec(file) ?? []
    assert(digits !== undefined && name !== undefined, `migration ${file} is not named like 0001_name.sql`)
    assert.equal(Number(digits), index + 1, `migration ${file} is the ${index + 1}. of its folder: no number is left out or given twice`)
    return { version: index + 1, name, url: new URL(file, folder) }
  })
}

/** The statements of a file: each ends with `;` at the end of a line. */
export function statementsIn(text: string): string[] {
  return text
    .replace(/^\s*--.*$/gm, '')
    .split(/;[ \t]*(?:--.*)?$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}
