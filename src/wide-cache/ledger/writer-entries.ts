/**
 * The ledger's rows of the writers that one transaction concerns: locked and read at its start, and
 * written at its end.
 */
import { listsOf } from '../../database/bulk.js'
import type { SqlRow, Transaction } from '../../database/database.js'
import { execute } from '../../database/sql.js'
import { type RowOf, table } from '../../database/table.js'
import type { Frame } from '../frame.js'
import { WriterEntry } from './writer-entry.js'

/** Outcome of the frames that are new to a transaction. */
export type Outcome = 'committed' | 'quarantined'

/** The writers of a transaction, by their ids. */
export type WriterEntries = ReadonlyMap<string, WriterEntry>

/** Figures of a writer, as its frames give them. */
type HeaderSums = Pick<Frame, 'issued' | 'dropped' | 'floor' | 'floorIssued' | 'floorAt'>

const FIGURES = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['issued', 'greatest'],
  ['dropped', 'greatest'],
  ['floor', 'greatest'],
  ['floor_issued', 'greatest'],
  ['floor_at', { unlessBelow: 'floor' }],
)
const RANGES = table(
  'wide_cache_ranges',
  ['name', 'writer', 'first_sequence'],
  ['last_sequence', 'replace'],
  'issued',
  ['row_count', 'replace'],
)
const OUTCOMES = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['prefix', 'replace'],
  ['committed', 'add'],
  ['quarantined', 'add'],
  ['duplicate', 'add'],
  ['lost', 'replace'],
  ['aging_floor', 'replace'],
  ['aging_issued', 'replace'],
  ['aging_since', 'replace'],
  ['gone', 'replace'],
  ['gone_at', 'replace'],
  ['last_seen', 'replace'],
)

/**
 * Locks the rows of the writers of `frames`, in the order of their ids, and enters in them the
 * figures of the frames. Then reads these rows with their ranges.
 */
export async function lockEntries(
  tx: Transaction,
  name: string,
  frames: readonly Frame[],
): Promise<WriterEntries> {
  const sums = newestSums(frames)
  const writers = [...sums.keys()].sort()
  if (writers.length === 0) return new Map()
  const rows = writers.map((writer) => {
    const { issued, dropped, floor, floorIssued, floorAt } = sums.get(writer)!
    const id = Buffer.from(writer, 'hex')
    return [name, id, issued, dropped, floor, floorIssued, floorAt] as const
  })
  await FIGURES.upsert(tx, rows)
  return readEntries(tx, name, writers)
}

function newestSums(frames: readonly Frame[]): Map<string, HeaderSums> {
  const writers = new Map<string, HeaderSums>()
  for (const { writer, issued, rowCount, dropped, floor, floorIssued, floorAt } of frames) {
    const before = writers.get(writer)
    const isOlder = before && floor < before.floor
    writers.set(writer, {
      issued: Math.max(before?.issued ?? 0, issued + rowCount),
      dropped: Math.max(before?.dropped ?? 0, dropped),
      floor: Math.max(before?.floor ?? 0, floor),
      floorIssued: Math.max(before?.floorIssued ?? 0, floorIssued),
      floorAt: isOlder ? before.floorAt : Math.min(floorAt, timeOf(before, floor)),
    })
  }
  return writers
}

/** The time of a floor as earlier frames gave it. */
function timeOf(sums: HeaderSums | undefined, floor: number): number {
  return sums?.floor === floor ? sums.floorAt : Infinity
}

async function readEntries(
  tx: Transaction,
  name: string,
  writers: readonly string[],
): Promise<WriterEntries> {
  const entries = new Map<string, WriterEntry>()
  for (const list of listsOf(writers, tx)) {
    const { rows } = await execute(tx)`SELECT w.writer, prefix, committed, quarantined, dropped,
      lost, floor, floor_issued, aging_floor, aging_issued, aging_since, gone, gone_at,
      (SELECT safe_at FROM wide_cache_names AS n WHERE n.name = w.name) AS safe_at, first_sequence,
      last_sequence, r.issued AS range_issued, row_count FROM wide_cache_writers AS w
      LEFT JOIN wide_cache_ranges AS r ON r.name = w.name AND r.writer = w.writer
      WHERE w.name = ${name} AND w.writer IN (${list.map((writer) => Buffer.from(writer, 'hex'))})
      ORDER BY w.writer, first_sequence`
    for (const row of rows) {
      const writer = hex(row)
      const entry = entries.get(writer) ?? new WriterEntry(writer, row)
      entries.set(writer, entry)
      if (row['first_sequence'] === null) continue
      entry.load({
        first: Number(row['first_sequence']),
        last: Number(row['last_sequence']),
        issued: Number(row['range_issued']),
        rows: Number(row['row_count']),
      })
    }
  }
  return entries
}

function hex(row: SqlRow): string {
  const writer = row['writer']
  if (!Buffer.isBuffer(writer)) throw new TypeError('wide-cache: a writer id that is not binary')
  return writer.toString('hex')
}

/**
 * Moves the prefixes on and writes the entries back, with ranges only of the frames above the
 * prefixes. `seenAt`: see {@link seenAtOf}. `agedMs`: see {@link WriterEntry.compact}.
 */
export async function writeEntries(
  tx: Transaction,
  name: string,
  entries: WriterEntries,
  outcome: Outcome,
  { now, seenAt, agedMs }: Readonly<Record<'now' | 'seenAt' | 'agedMs', number>>,
): Promise<void> {
  const writers: RowOf<typeof OUTCOMES>[] = []
  const ranges: RowOf<typeof RANGES>[] = []
  for (const [writer, entry] of entries) {
    const id = Buffer.from(writer, 'hex')
    const { removed, changed } = entry.compact(agedMs)
    entry.addGone(outcome === 'quarantined' ? entry.taken : 0, now)
    await removeRanges(tx, name, id, removed)
    for (const { first, last, issued, rows } of changed) {
      ranges.push([name, id, first, last, issued, rows])
    }
    writers.push([
      name,
      id,
      entry.prefix,
      outcome === 'committed' ? entry.taken : 0,
      outcome === 'quarantined' ? entry.taken : 0,
      entry.duplicate,
      entry.lost,
      entry.agingFloor,
      entry.agingIssued,
      entry.agingSince,
      entry.gone,
      entry.goneAt,
      seenAt,
    ])
  }
  await RANGES.upsert(tx, ranges)
  await OUTCOMES.upsert(tx, writers)
}

/**
 * The time at which writers and what they bring are seen: while the database's clock is behind,
 * that of the safe clock, because they are forgotten by it.
 */
export function seenAtOf(entries: WriterEntries, now: number): number {
  return Math.max(now, ...[...entries.values()].map(({ safeAt }) => safeAt))
}

async function removeRanges(
  tx: Transaction,
  name: string,
  writer: Buffer,
  firsts: readonly number[],
): Promise<void> {
  for (const some of listsOf(firsts, tx)) {
    await execute(tx)`DELETE FROM wide_cache_ranges WHERE name = ${name} AND writer = ${writer}
      AND first_sequence IN (${some})`
  }
}
