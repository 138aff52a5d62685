import type { SqlValue, Transaction } from '../database/database.js'
import { placeholders, upsert } from '../database/dialect.js'
import type { CommitContext } from '../wide-cache/options.js'
import type { Visit } from './visit.js'

/** The more visits share a transaction, the fewer visitors are entered twice; beyond this it hardly matters. */
export const MAX_COMMIT_ROWS = 20_000

/** Rows of one statement: more is hardly faster, and its values must fit a packet. */
const ROWS_A_STATEMENT = 1_000

/**
 * Brings visits to SQL within the transaction of their frames: sums first, then rows, so that the sums
 * always are what the rows say. Locks in one order, for concurrent transactions and {@link tidyActivity}:
 * layers ascending, then visitors ascending.
 *
 * A visit's layer is that of its `created_at`, which is its time but no later than the database's now.
 */
export async function commitVisits(visits: readonly Visit[], tx: Transaction, { now, name, layerSeconds }: CommitContext): Promise<void> {
  const views = new Map<number, number>()
  const visitors = new Map<string, { visitor: Buffer; layer: number }>()
  const rows = visits.map(({ time, visitor, page }) => ({ createdAt: Math.min(time, now), visitor, page }))
  for (const { createdAt, visitor } of rows) {
    const layer = Math.floor(createdAt / (layerSeconds * 1000))
    views.set(layer, (views.get(layer) ?? 0) + 1)
    if (!visitor) continue
    const key = visitor.toString('latin1')
    const known = visitors.get(key)
    if (!known) visitors.set(key, { visitor, layer })
    else if (layer > known.layer) known.layer = layer
  }

  const layers = [...views].sort(([a], [b]) => a - b)
  await inStatements(layers, ([layer, count]) => [name, layer, count], (count) =>
    upsert(tx.dialect, 'activity_layers', ['name', 'layer'], ['name', 'layer', 'views'], { views: 'add' }, count), tx)

  // In Latin-1, texts are in the order of their bytes.
  const seen = [...visitors.keys()].sort().map((key) => visitors.get(key)!)
  await inStatements(seen, ({ visitor, layer }) => [name, visitor, layer], (count) =>
    upsert(tx.dialect, 'activity_visitors', ['name', 'visitor'], ['name', 'visitor', 'last_layer'], { last_layer: 'greatest' }, count), tx)

  rows.sort((a, b) => a.createdAt - b.createdAt)
  await inStatements(rows, ({ createdAt, visitor, page }) => [name, createdAt, visitor, page], (count) =>
    `INSERT INTO activities (name, created_at, visitor, page) VALUES ${Array(count).fill(`(${placeholders(4)})`).join(', ')}`, tx)
}

/** Runs `sql` for all `items`, a bounded number of them at a time; the next statement is made while the database is at the last. */
async function inStatements<T>(items: readonly T[], values: (item: T) => SqlValue[], sql: (count: number) => string, tx: Transaction): Promise<void> {
  let underWay: Promise<unknown> = Promise.resolve()
  for (let at = 0; at < items.length; at += ROWS_A_STATEMENT) {
    const part = items.slice(at, at + ROWS_A_STATEMENT)
    const next = tx.query(sql(part.length), part.flatMap(values))
    // Of two that fail the first is the one that says why.
    next.catch(() => undefined)
    await underWay
    underWay = next
  }
  await underWay
}
