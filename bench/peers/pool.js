// What peers with tables of their own in MySQL share.
import mysql from 'mysql2/promise'

/** Connections, when these statements have been executed. */
export async function openPool(mysqlUrl, connections, ...statements) {
  const pool = mysql.createPool({ uri: mysqlUrl, connectionLimit: connections })
  for (const statement of statements) await pool.query(statement)
  return pool
}

/** The number `n` of the only row. */
export async function numberOf(pool, statement) {
  const [[row]] = await pool.query(statement)
  return Number(row.n)
}

/** Parts of a list, of so many each but the last. */
export function* partsOf(list, size) {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size)
}
