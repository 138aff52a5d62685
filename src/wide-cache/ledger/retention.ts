import type { Database, SqlValue, Transaction } from '../../database/database.js'
import { forUpdate } from '../../database/dialect.js'
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
  const { rows } = await database.query(
    'SELECT writer FROM wide_cache_writers ' +
      `WHERE name = ? AND last_seen < ? AND writer <> ? LIMIT ${FORGET_AT_ONCE}`,
    [name, before, FORGOTTEN],
  )
  for (const { writer } of rows) {
    await database.transaction((tx) => forgetWriter(tx, name, writer ?? null, before))
  }
  await database.query('DELETE FROM wide_cache_quarantine WHERE name = ? AND created_at < ?', [
    name,
    before,
  ])
  await database.query('DELETE FROM wide_cache_grids WHERE name = ? AND used_at < ?', [
    name,
    before,
  ])
  await database.query('DELETE FROM wide_cache_joining WHERE name = ? AND seen_at < ?', [
    name,
    before,
  ])
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
  const {
    rows: [row],
  } = await tx.query(
    'SELECT issued, committed, duplicate, quarantined, dropped FROM wide_cache_writers ' +
      `WHERE name = ? AND writer = ? AND last_seen < ?${forUpdate(tx.dialect)}`,
    [name, writer, before],
  )
  // It has come back meanwhile.
  if (!row) return
  const [issued, committed] = [Number(row['issued']), Number(row['committed'])]
  const [duplicate, quarantined] = [Number(row['duplicate']), Number(row['quarantined'])]
  const lost = issued - committed - quarantined
  await tx.query('DELETE FROM wide_cache_ranges WHERE name = ? AND writer = ?', [name, writer])
  await tx.query('DELETE FROM wide_cache_writers WHERE name = ? AND writer = ?', [name, writer])
  const dropped = Number(row['dropped'])
  await SUMS.upsert(tx, [
    [name, FORGOTTEN, issued, committed, duplicate, quarantined, dropped, lost],
  ])
}
