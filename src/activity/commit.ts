import type { Dialect, SqlValue, Transaction } from '../database/database.js'
import { insert, upsert } from '../database/dialect.js'
import type { CommitContext } from '../wide-cache/options.js'
import type { Visit } from './visit.js'

/** The more visits share a transaction, the fewer visitors are entered twice, and the longer others wait for its locks. */
export const MAX_COMMIT_ROWS = 40_000

/** Rows of one statement: more is hardly faster, and its values must fit a packet. */
const ROWS_A_STATEMENT = 1_000

/**
 * Brings visits to SQL within the transaction of their frames: the views of their layers, the rows, and the newest
 * layer of each visitor, so that the sums always are what the rows say. Locks in one order, for concurrent
 * transactions and {@link tidyActivity}: layers ascending, then visitors ascending.
 *
 * A visit's layer is that of its `created_at`, which is its time but no later than the database's now.
 */
export async function commitVisits(visits: readonly Visit[], tx: Transaction, context: CommitContext): Promise<void> {
  let underWay: Promise<unknown> = Promise.resolve()
  // The next statement is made while the database is at the last.
  for (const { sql, values } of statements(visits, tx.dialect, context)) {
    const next = tx.query(sql, values)
    // Of two that fail the first is the one that says why.
    next.catch(() => undefined)
    await underWay
    underWay = next
  }
  await underWay
}

interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

function* statements(visits: readonly Visit[], dialect: Dialect, { now, name, layerSeconds }: CommitContext): Generator<Statement> {
  const layers = byLayer(visits, now, layerSeconds * 1000)
  yield* inPieces(layers, ([layer, { length }]) => [name, layer, length], (count) =>
    upsert(dialect, 'activity_layers', ['name', 'layer'], ['name', 'layer', 'views'], { views: 'add' }, count))

  const visitors = new Map<string, { visitor: Buffer; layer: number }>()
  yield* inPieces(inOrder(layers, visitors), ({ time, visitor, page }) => [name, Math.min(time, now), visitor, page], (count) =>
    insert('activities', ['name', 'created_at', 'visitor', 'page'], count))

  yield* inPieces(ascending(visitors), ({ visitor, layer }) => [name, visitor, layer], (count) =>
    upsert(dialect, 'activity_visitors', ['name', 'visitor'], ['name', 'visitor', 'last_layer'], { last_layer: 'greatest' }, count))
}

type Layer = readonly [layer: number, visits: Visit[]]

/** Layers ascending, and what is in them. */
function byLayer(visits: readonly Visit[], now: number, layerMs: number): Layer[] {
  const layers = new Map<number, Visit[]>()
  for (const visit of visits) {
    const layer = Math.floor(Math.min(visit.time, now) / layerMs)
    const others = layers.get(layer)
    if (others) others.push(visit)
    else layers.set(layer, [visit])
  }
  return [...layers].sort(([a], [b]) => a - b)
}

/** All visits in the order of their times, in which an index takes them best; enters the newest layer of their visitors in `visitors`. */
function* inOrder(layers: readonly Layer[], visitors: Map<string, { visitor: Buffer; layer: number }>): Generator<Visit> {
  for (const [layer, visits] of layers) {
    for (const visit of visits.sort((a, b) => a.time - b.time)) {
      // In Latin-1, texts are in the order of their bytes.
      if (visit.visitor) visitors.set(visit.visitor.toString('latin1'), { visitor: visit.visitor, layer })
      yield visit
    }
  }
}

/** What `items` has, in the order of the keys, sorted piece by piece: tens of thousands at once would hold up the process's requests. */
function* ascending<T>(items: ReadonlyMap<string, T>): Generator<T> {
  const keysBy = Array.from({ length: 256 }, (): string[] => [])
  for (const key of items.keys()) keysBy[key.charCodeAt(0)]!.push(key)
  for (const keys of keysBy) for (const key of keys.sort()) yield items.get(key)!
}

/** Statements for all `items`, of a bounded number of them each. */
function* inPieces<T>(items: Iterable<T>, valuesOf: (item: T) => SqlValue[], sqlFor: (count: number) => string): Generator<Statement> {
  let values: SqlValue[] = []
  let count = 0
  for (const item of items) {
    values.push(...valuesOf(item))
    if (++count < ROWS_A_STATEMENT) continue
    yield { sql: sqlFor(count), values }
    values = []
    count = 0
  }
  if (count > 0) yield { sql: sqlFor(count), values }
}
