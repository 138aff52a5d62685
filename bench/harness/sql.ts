/** Questions to MySQL, of which each has one row of numbers for an answer. */
import { type Connection, createConnection, type Pool, type RowDataPacket } from 'mysql2/promise'

/** The numbers of the one row that a statement returns, by their columns. */
export async function rowOf<Column extends string>(
  sql: Connection | Pool,
  statement: string,
  values: (string | number)[] = [],
): Promise<Record<Column, number>> {
  const [[row]] = await sql.query<RowDataPacket[]>(statement, values)
  const numbers = Object.entries(row!).map(([column, value]) => [column, Number(value)])
  return Object.fromEntries(numbers) as Record<Column, number>
}

/** The URL of a database of MySQL, through another port of this machine. */
export function urlThrough(port: number, url: string): string {
  const through = new URL(url)
  through.port = String(port)
  return through.href
}

/** Asks on a connection of its own. */
export async function asked<Answer>(
  url: string,
  ask: (sql: Connection) => Promise<Answer>,
): Promise<Answer> {
  const sql = await createConnection(url)
  try {
    return await ask(sql)
  } finally {
    await sql.end()
  }
}
