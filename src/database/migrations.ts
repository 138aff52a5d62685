/**
 * Brings a schema up to date. Each part of the package has its own tables; the numbered files of
 * `sql/<dialect>/<part>/` are their history, applied forward only and recorded in
 * `wide_cache_migrations`. One process at a time works, the others wait for it. In MySQL, where DDL
 * commits by itself, a file is written so that it can be run again after a crash half-way.
 *
 * A file may say which older processes go on beside it; all others are refused.
 */
import assert from 'node:assert/strict'
import { readFile, readdir } from 'node:fs/promises'
import { packageFile } from '../support/package-file.js'
import { DatabaseError, type Dialect, type Queryable } from './database.js'
import { columnsOf } from './dialect.js'
import { execute } from './sql.js'
import { refuseForeignTables } from './foreign-tables.js'
import { enterIdentity, IDENTITY } from './identity.js'

/** Time that a process waits for another one that is migrating. */
export const MIGRATION_LOCK_SECONDS = 30
const FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/
const GO_ON = /^-- Processes that know migration (\d{4}) go on\.\r?$/m
const LIKE_GO_ON = /processes that know/i

/** All parts that have tables. */
export const PARTS = [
  IDENTITY,
  'wide-cache',
  'activity',
  'hits',
  'counters',
  'sequence',
  'collision-free-map',
] as const

const RECORD =
  'CREATE TABLE IF NOT EXISTS wide_cache_migrations (part VARCHAR(32) NOT NULL, version ' +
  'INTEGER NOT NULL, name VARCHAR(100) NOT NULL, applied_at BIGINT NOT NULL, ' +
  'oldest INTEGER NOT NULL, PRIMARY KEY (part, version))'

/** State of a part's tables in a database. */
export interface AppliedPart {
  /** The newest migration. */
  readonly version: number
  /** Processes that know the migrations up to this one may use the tables. */
  readonly oldest: number
}

/** A database that lets one caller at a time, of all processes, change its tables. */
export interface Migratable extends Pick<Queryable, 'query'> {
  /** Rejects with category `lock` when others hold the tables too long. */
  exclusively<T>(work: (queryable: Queryable) => Promise<T>): Promise<T>
}

/** A numbered file of a part. */
export interface Migration {
  readonly part: string
  readonly version: number
  readonly name: string
  readonly url: URL
}

/** Returns the folder of a dialect's schema; the same path from `src/` and from `dist/`. */
export function migrationsFolder(dialect: Dialect): URL {
  return packageFile(`../sql/${dialect}/`)
}

/** The error of a process that has waited too long for another one's migration. */
export function migrationsBusy(): DatabaseError {
  const message =
    'Another process has been migrating the database for more than ' +
    `${MIGRATION_LOCK_SECONDS} s; try again when it is done`
  return new DatabaseError('DATABASE_MIGRATING', 'lock', message)
}

/**
 * Applies the migrations of `parts`, folders of `folder`, that the database does not have yet.
 *
 * @throws DatabaseError `DATABASE_NEWER` if it has some that `folder` does not have, and they
 * refuse processes that do not know them; `DATABASE_FOREIGN_TABLE` if another program has a table
 * of one of the names, before anything is written; `DATABASE_MIGRATING`
 */
export async function migrate(
  database: Migratable,
  folder: URL,
  parts: readonly string[],
): Promise<void> {
  const migrations = new Map(
    await Promise.all(parts.map(async (part) => [part, await migrationsOf(part, folder)] as const)),
  )
  // First without a lock and without DDL, which the user of a web process may have no right to.
  const applied = await appliedParts(database).catch(noneYet)
  if (applied && parts.every((part) => isThere(applied.get(part), migrations.get(part)!))) return
  const deadline = performance.now() + MIGRATION_LOCK_SECONDS * 1_000
  for (;;) {
    try {
      return await database.exclusively((queryable) => bringUp(queryable, migrations))
    } catch (error) {
      if (!(error instanceof DatabaseError) || !isOthers(error)) throw error
      if (performance.now() > deadline) throw migrationsBusy()
    }
  }
}

/**
 * Tells whether another process has the lock, or has just recorded the same migration: the nodes of
 * a Galera cluster do not know of each other's locks.
 */
function isOthers({ category, code }: DatabaseError): boolean {
  return category === 'lock' || code === 'ER_DUP_ENTRY'
}

/** Tells whether a process that knows `migrations` can use the tables of a part as they are. */
function isThere(applied: AppliedPart | undefined, { length }: readonly Migration[]): boolean {
  return applied !== undefined && applied.version >= length && applied.oldest <= length
}

async function bringUp(
  queryable: Queryable,
  migrations: ReadonlyMap<string, readonly Migration[]>,
): Promise<void> {
  await refuseForeignTables(queryable, [RECORD])
  // A statement that fails would fail the transaction.
  const isRecorded = (await columnsOf(queryable, 'wide_cache_migrations')).length > 0
  const applied = isRecorded ? await appliedParts(queryable) : new Map<string, AppliedPart>()
  const missing: (Migration & { readonly text: string; readonly oldest: number })[] = []
  for (const [part, all] of migrations) {
    const { version, oldest } = applied.get(part) ?? { version: 0, oldest: 0 }
    if (oldest > all.length) throw newer(part, version, all.length)
    for (const migration of all.slice(version)) {
      const text = await readFile(migration.url, 'utf8')
      missing.push({ ...migration, text, oldest: oldestAfter(migration, text) })
    }
  }
  await refuseForeignTables(
    queryable,
    missing.flatMap(({ text }) => statementsIn(text)),
  )
  await queryable.query(RECORD)
  for (const { part, version, name, text, oldest } of missing) {
    for (const statement of statementsIn(text)) await queryable.query(statement)
    const now = await queryable.now()
    await execute(queryable)`INSERT INTO wide_cache_migrations (part, version, name, applied_at,
      oldest) VALUES (${part}, ${version}, ${name}, ${now}, ${oldest})`
  }
  if (migrations.has(IDENTITY)) await enterIdentity(queryable)
}

/** Returns the lowest version that a process must know to use the tables after this migration. */
function oldestAfter({ version, url }: Migration, text: string): number {
  const said = GO_ON.exec(text)?.[1]
  const oldest = Number(said ?? version)
  // A mistake in this line would refuse processes that can go on, or all of them.
  assert(
    oldest <= version && (said !== undefined || !LIKE_GO_ON.test(text)),
    `${url.pathname} names wrongly which processes go on`,
  )
  return oldest
}

/** Reads the parts that have applied migrations, and the state of each. */
export async function appliedParts(
  queryable: Pick<Queryable, 'query'>,
): Promise<Map<string, AppliedPart>> {
  const { rows } = await execute(queryable)`SELECT part, MAX(version) AS version,
    MAX(oldest) AS oldest FROM wide_cache_migrations GROUP BY part`
  return new Map(
    rows.map(({ part, version, oldest }) => [
      String(part),
      { version: Number(version), oldest: Number(oldest) },
    ]),
  )
}

/**
 * Ignores an error of category `usage`: there is no table yet, or it may not be read. Migrating
 * shows which.
 */
function noneYet(error: unknown): undefined {
  if (!(error instanceof DatabaseError && error.category === 'usage')) throw error
}

function newer(part: string, current: number, known: number): DatabaseError {
  const message =
    `The database's tables of "${part}" are at version ${current}, this wide-cache knows ` +
    `them up to version ${known}: ` +
    'a newer wide-cache has migrated it. Update the package here; tables are never migrated ' +
    'backwards'
  return new DatabaseError('DATABASE_NEWER', 'usage', message)
}

/** The migrations of a part, in their order. */
export async function migrationsOf(part: string, folder: URL): Promise<Migration[]> {
  const own = new URL(`${part}/`, folder)
  const files = (await readdir(own)).filter((file) => file.endsWith('.sql')).sort()
  return files.map((file, index) => {
    const [, digits, name] = FILE.exec(file) ?? []
    assert(
      digits !== undefined && name !== undefined,
      `migration ${file} is not named like 0001_name.sql`,
    )
    assert.equal(
      Number(digits),
      index + 1,
      `migration ${file} is the ${index + 1}. of its folder: no number is left out or given twice`,
    )
    return { part, version: index + 1, name, url: new URL(file, own) }
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
