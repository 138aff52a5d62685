/** Whether what came to SQL is what was waiting: each row, once, with its sums, in the ledger. */
import { crc32 } from 'node:zlib'
import type { Connection } from 'mysql2/promise'
import { rowOf } from '../harness/sql.js'
import { visitAt } from './visits.js'

/** @throws Error if `activities` has not exactly the first `count` visits since `from` */
export async function checkRows(
  sql: Connection,
  database: string,
  from: number,
  count: number,
): Promise<void> {
  const { n, contents } = await rowOf<'n' | 'contents'>(
    sql,
    'SELECT COUNT(*) AS n, ' +
      `COALESCE(SUM(CRC32(CONCAT_WS(' ', created_at - ?, HEX(visitor), page))), 0) % ${2 ** 32} ` +
      `AS contents FROM ${database}.activities`,
    [from],
  )
  if (n !== count) throw new Error(`${database}: ${n} rows came to SQL of ${count}`)
  if (contents !== contentsOf(count)) {
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
  const sums = [
    ['seconds', 'activity_seconds'],
    ['hours', 'activity_hours'],
    ...dimensions.map((name) => [name, `activity_hour_values WHERE dimension = '${name}'`]),
  ].map(([name, table]) => `(SELECT SUM(views) FROM ${database}.${table}) AS ${name}, `)
  const { visitors, ...views } = await rowOf<string>(
    sql,
    `SELECT ${sums.join('')}(SELECT COUNT(*) FROM ${database}.activity_visitors) AS visitors`,
  )
  const different = visitorsOf(from, count)
  if (Object.values(views).some((sum) => sum !== count) || visitors !== different) {
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
  const { committed, other, settled } = await rowOf<'committed' | 'other' | 'settled'>(
    sql,
    'SELECT SUM(committed) AS committed, SUM(duplicate + quarantined + lost) AS other, ' +
      `SUM(prefix + 1) AS settled FROM ${database}.wide_cache_writers`,
  )
  if (committed !== count || other !== 0 || settled !== frames) {
    throw new Error(
      `${database}: the ledger says ${committed} of ${count} rows, ${settled} of ${frames} ` +
        `frames, ${other} others`,
    )
  }
}

const contents = new Map<number, number>()

/** Returns the checksum of the first `count` visits. */
function contentsOf(count: number): number {
  let sum = contents.get(count)
  if (sum === undefined) {
    sum = 0
    for (let i = 0; i < count; i++) {
      const { time, visitor, page } = visitAt(0, i)
      sum = (sum + crc32(`${time} ${visitor.toString('hex').toUpperCase()} ${page}`)) % 2 ** 32
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
