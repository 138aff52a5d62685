/** Whether what came to SQL is what was waiting: each row, once, with its sums, in the ledger. */
import { crc32 } from 'node:zlib'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { visitAt } from './visits.js'

/** @throws Error if `activities` has not exactly the first `count` visits since `from` */
export async function checkRows(
  sql: Connection,
  database: string,
  from: number,
  count: number,
): Promise<void> {
  const { n, contents } = await one(
    sql,
    `SELECT COUNT(*) AS n, ` +
      `COALESCE(SUM(CRC32(CONCAT_WS(' ', created_at - ?, HEX(visitor), page))), 0) ` +
      `AS contents FROM ${database}.activities`,
    [from],
  )
  if (Number(n) !== count) throw new Error(`${database}: ${n} rows came to SQL of ${count}`)
  if (BigInt(String(contents)) !== contentsOf(count)) {
    throw new Error(`${database}: other rows came to SQL than were waiting`)
  }
}

/**
 * @throws Error if the sums are not those of the first `count` visits since `from`, or the values
 * of the dimensions that every visit has a value of
 */
export async function checkSums(
  sql: Connection,
  database: string,
  from: number,
  count: number,
  dimensions: readonly string[],
): Promise<void> {
  const { visitors, ...views } = await one(
    sql,
    `SELECT (SELECT SUM(views) FROM ${database}.activity_seconds) AS seconds, ` +
      `(SELECT SUM(views) FROM ${database}.activity_hours) AS hours, ` +
      dimensions
        .map(
          (dimension) =>
            `(SELECT SUM(views) FROM ${database}.activity_hour_values ` +
            `WHERE dimension = '${dimension}') AS ${dimension}, `,
        )
        .join('') +
      `(SELECT COUNT(*) FROM ${database}.activity_visitors) AS visitors`,
  )
  const different = visitorsOf(from, count)
  if (Object.values(views).some((sum) => Number(sum) !== count) || Number(visitors) !== different) {
    throw new Error(
      `${database}: the sums say ${JSON.stringify(views)} views of ${visitors} visitors, not ` +
        `${count} of ${different}`,
    )
  }
}

/** @throws Error if the ledger says anything else than that each row came once */
export async function checkLedger(
  sql: Connection,
  database: string,
  count: number,
  frames: number,
): Promise<void> {
  const { committed, other, settled } = await one(
    sql,
    'SELECT SUM(committed) AS committed, SUM(duplicate + quarantined + lost) AS other, ' +
      `SUM(prefix + 1) AS settled FROM ${database}.wide_cache_writers`,
  )
  if (Number(committed) !== count || Number(other) !== 0 || Number(settled) !== frames) {
    throw new Error(
      `${database}: the ledger says ${committed} of ${count} rows, ${settled} of ${frames} ` +
        `frames, ${other} others`,
    )
  }
}

/** @throws Error if the ledger knows any frame */
export async function checkNoLedger(sql: Connection, database: string): Promise<void> {
  const { n } = await one(sql, `SELECT COUNT(*) AS n FROM ${database}.wide_cache_writers`)
  if (Number(n) !== 0) throw new Error(`${database}: the ledger knows ${n} writers`)
}

const contents = new Map<number, bigint>()

/** Returns the checksum of the first `count` visits. */
function contentsOf(count: number): bigint {
  let sum = contents.get(count)
  if (sum === undefined) {
    // Of ten million, past 2^53.
    sum = 0n
    for (let i = 0; i < count; i++) {
      const { time, visitor, page } = visitAt(0, i)
      sum += BigInt(crc32(`${time} ${visitor.toString('hex').toUpperCase()} ${page}`))
    }
    contents.set(count, sum)
  }
  return sum
}

/** The different visitors of each day, in all, among the first `count` visits since `from`. */
function visitorsOf(from: number, count: number): number {
  const days = new Map<number, Set<Buffer>>()
  for (let i = 0; i < count; i++) {
    const { time, visitor } = visitAt(from, i)
    const day = Math.floor(time / 86_400_000)
    const visitors = days.get(day) ?? new Set()
    days.set(day, visitors.add(visitor))
  }
  return [...days.values()].reduce((sum, { size }) => sum + size, 0)
}

async function one(sql: Connection, text: string, values: number[] = []): Promise<RowDataPacket> {
  const [[row]] = await sql.query<RowDataPacket[]>(text, values)
  return row!
}
