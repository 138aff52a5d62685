import type { Database, SqlValue, Transaction } from '../../database/database.js'
import { forUpdate } from '../../database/dialect.js'
import { execute, raw, selectOne } from '../../database/sql.js'
import { table } from '../../database/table.js'
import { FORGOTTEN } from './ledger.js'

/** The sums of a writer, added to those of another. */
const SUMS = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['issued', 'add'],
  ['committed', 'add'],
  ['duplicate', 'add'],
  ['quarantined', 'add'],
  ['dropped', 'add'],
  ['lost', 'add'],
)

/** Time after which unseen writers are forgotten. */
const KEPT_MS = 30 * 24 * 3600 * 1000

/** Rows of old ledger entries removed in one statement. */
const FORGET_AT_ONCE = 500

/**
 * Removes what the ledger keeps of writers, grids and quarantine older than 30 days, a piece at a
 * time. Resolves with whether there is more.
 */
export async function removeOldEntries(
  database: Database,
  name: string,
  now: number,
): Promise<boolean> {
  const before = now - KEPT_MS
  const { rows } = await execute(database)`SELECT writer FROM wide_cache_writers
    WHERE name = ${name} AND last_seen < ${before} AND writer <> ${FORGOTTEN}
    LIMIT ${FORGET_AT_ONCE}`
  for (const { writer } of rows) {
    await database.transaction((tx) => forgetWriter(tx, name, writer ?? null, before))
  }
  await execute(database)`DELETE FROM wide_cache_quarantine WHERE name = ${name}
    AND created_at < ${before}`
  await execute(database)`DELETE FROM wide_cache_grids WHERE name = ${name} AND used_at < ${before}`
  await execute(database)`DELETE FROM wide_cache_joining WHERE name = ${name}
    AND seen_at < ${before}`
  return rows.length === FORGET_AT_ONCE
}

/**
 * Adds a writer's sums to those of all forgotten writers, and removes it. Its missing rows are
 * lost.
 */
async function forgetWriter(
  tx: Transaction,
  name: string,
  writer: SqlValue,
  before: number,
): Promise<void> {
  const columns = {
    issued: Number,
    committed: Number,
    duplicate: Number,
    quarantined: Number,
    dropped: Number,
  }
  const sums = await selectOne(tx, columns)`FROM wide_cache_writers WHERE name = ${name}
    AND writer = ${writer} AND last_seen < ${before}${raw(forUpdate(tx.dialect))}`
  // It has come back meanwhile.
  if (!sums) return
  const { issued, committed, duplicate, quarantined, dropped } = sums
  const lost = issued - committed - quarantined
  await execute(tx)`DELETE FROM wide_cache_ranges WHERE name = ${name} AND writer = ${writer}`
  await execute(tx)`DELETE FROM wide_cache_writers WHERE name = ${name} AND writer = ${writer}`
  await SUMS.upsert(tx, [
    [name, FORGOTTEN, issued, committed, duplicate, quarantined, dropped, lost],
  ])
}
