/**
 * All that the simulation knows of the protocol's tables and keys: what a statement does, what a
 * cell's key says, and what stands in the ledger. Nothing else here names a table or takes a key
 * apart.
 */
import type { SqlRow, SqlValue } from '../../src/database/database.js'
import { stampOf } from '../../src/wide-cache/frame.js'

/** Stamp of the frames that a wide cache has by default. */
export const STAMP = stampOf('rows')

export const TABLES = [
  'wide_cache_names',
  'wide_cache_grids',
  'wide_cache_writers',
  'wide_cache_ranges',
  'wide_cache_quarantine',
] as const

/** Reads tables. */
export type Look = (sql: string, values?: readonly SqlValue[]) => readonly SqlRow[]

/** A grid as SQL has it. */
export interface GridRow {
  /** Its part of the keys of its cells: the namespace of its database, and its id in SQL. */
  readonly id: string
  readonly width: number
  readonly layerSeconds: number
  readonly watermark: number
  /** Moment before which all rows are in SQL, in milliseconds since the Unix epoch. */
  readonly completeTo: number
}

export function gridsOf(look: Look): GridRow[] {
  const columns = 'g.id, width, layer_seconds, watermark, complete_to, namespace'
  const from = 'wide_cache_grids AS g, wide_cache_identity'
  return look(`SELECT ${columns} FROM ${from}`).map((row) => {
    const layerSeconds = Number(row['layer_seconds'])
    const watermark = Number(row['watermark'])
    const drainedTo = (watermark + 1) * layerSeconds * 1000
    return {
      id: `${hex(row['namespace'])}:grid:${hex(row['id'])}`,
      width: Number(row['width']),
      layerSeconds,
      watermark,
      completeTo: Math.max(drainedTo, Number(row['complete_to'])),
    }
  })
}

/** The sums of one writer, or of all. */
export interface Sums {
  issued: number
  committed: number
  quarantined: number
  duplicate: number
  dropped: number
  lost: number
}

export const NO_SUMS: Sums = {
  issued: 0,
  committed: 0,
  quarantined: 0,
  duplicate: 0,
  dropped: 0,
  lost: 0,
}

export function sumsOfAll(look: Look): Sums {
  const [row] = look(
    'SELECT SUM(issued) AS issued, SUM(committed) AS committed, SUM(quarantined) AS quarantined, ' +
      'SUM(duplicate) AS duplicate, SUM(dropped) AS dropped, SUM(lost) AS lost ' +
      'FROM wide_cache_writers',
  )
  return sumsOf(row!)
}

function sumsOf(row: SqlRow): Sums {
  const sum = (column: keyof Sums) => Number(row[column])
  return {
    issued: sum('issued'),
    committed: sum('committed'),
    quarantined: sum('quarantined'),
    duplicate: sum('duplicate'),
    dropped: sum('dropped'),
    lost: sum('lost'),
  }
}

/** Returns the ledger's rows of each writer. */
export function writersOf(
  look: Look,
): { writer: string; sums: Sums; prefix: number; lastSeen: number; ranges: number }[] {
  const ranges = new Map(
    look('SELECT writer, COUNT(*) AS ranges FROM wide_cache_ranges GROUP BY writer').map((row) => [
      hex(row['writer']),
      Number(row['ranges']),
    ]),
  )
  return look('SELECT * FROM wide_cache_writers').map((row) => {
    const writer = hex(row['writer'])
    return {
      writer,
      sums: sumsOf(row),
      prefix: Number(row['prefix']),
      lastSeen: Number(row['last_seen']),
      ranges: ranges.get(writer) ?? 0,
    }
  })
}

/** The recorded zone of the days; empty: none is. */
export function zoneIn(look: Look): string {
  return String(look('SELECT MAX(time_zone) AS zone FROM wide_cache_names')[0]!['zone'])
}

/** The rows of a table that are there for longer than anything is on its way. */
export function countOf(look: Look, table: (typeof TABLES)[number]): number {
  return Number(look(`SELECT COUNT(*) AS rows FROM ${table}`)[0]!['rows'])
}

/** Sets the safe clock of all names. */
export function setSafeClock(look: Look, at: number): void {
  look('UPDATE wide_cache_names SET safe_at = ?', [at])
}

/** The writer under whose id forgotten writers are added up. */
export const FORGOTTEN = '0'.repeat(32)

/** The cache's key of the list of marks of a database. */
export function marksKeyOf(look: Look): string {
  const [row] = look('SELECT namespace FROM wide_cache_identity')
  return `wide-cache:${hex(row!['namespace'])}:marks`
}

/** Whether a database has put a mark, given in hexadecimal, into the cache. */
export function hasMark(look: Look, mark: string): boolean {
  const sql = 'SELECT 1 FROM wide_cache_marks WHERE mark = ?'
  return look(sql, [Buffer.from(mark, 'hex')]).length > 0
}

/** A statement that only reads. */
export function isRead(sql: string): boolean {
  return sql.startsWith('SELECT')
}

/** A statement that may move a watermark. */
export function raises(sql: string): boolean {
  return sql.startsWith('UPDATE wide_cache_grids SET watermark')
}

/** The process that moves a watermark: the owner of the lease that the statement renews. */
export function raiserOf(values: readonly SqlValue[]): string {
  return hex(values.at(-5))
}

/** A statement that changes the rows of grids. */
export function locksGrids(sql: string): boolean {
  return raises(sql) || sql.startsWith('UPDATE wide_cache_grids')
}

/** A statement that gives a database a new namespace. */
export function changesNamespace(sql: string): boolean {
  return sql.startsWith('UPDATE wide_cache_identity SET namespace')
}

/** The namespace that such a statement replaces. */
export function namespaceGivenUpBy(values: readonly SqlValue[]): string {
  return hex(values[1])
}

/** A statement that enters a name. */
export function entersName(sql: string): boolean {
  return sql.startsWith('INSERT INTO wide_cache_names ')
}

/** A statement that enters a grid. */
export function entersGrid(sql: string): boolean {
  return sql.startsWith('INSERT INTO wide_cache_grids ')
}

/** The writers whose rows of the ledger a statement locks. */
export function writersLockedBy(sql: string, values: readonly SqlValue[]): readonly string[] {
  if (!sql.startsWith('INSERT INTO wide_cache_writers ')) return []
  return values
    .filter((value): value is Buffer => Buffer.isBuffer(value) && value.length === 16)
    .map((value) => value.toString('hex'))
}

/** A piece of a frame that a statement puts into quarantine. */
export interface QuarantinedPiece {
  readonly frame: string
  readonly bytes: Buffer
}

export function quarantinedBy(
  sql: string,
  values: readonly SqlValue[],
): QuarantinedPiece | undefined {
  if (!sql.startsWith('INSERT INTO wide_cache_quarantine ')) return undefined
  const [, writer, sequence, , , , bytes] = values
  return Buffer.isBuffer(writer) && Buffer.isBuffer(bytes)
    ? { frame: `${writer.toString('hex')}:${Number(sequence)}`, bytes }
    : undefined
}

/** A cell's place, from its key. */
export interface CellPlace {
  readonly grid: string
  readonly layer: number
  readonly column: number
}

export function isCell(key: string): boolean {
  return key.includes(':cell:')
}

export function cellAt(key: string): CellPlace {
  const [, namespace, , id, , layer, column] = key.split(':')
  return { grid: `${namespace}:grid:${id}`, layer: Number(layer), column: Number(column) }
}

export function cellKey({ grid, layer, column }: CellPlace): string {
  return `wide-cache:${grid}:cell:${layer}:${column}`
}

function hex(value: SqlValue | undefined): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value)
}
