// Documents with the counts of their words: one transaction inserts the document and updates the
// counts where they are, and is begun anew after a deadlock. A statement a word, in the document's
// order or sorted (no deadlocks), or one sorted multi-row upsert a document. `work` is what else
// the transaction does.
import mysql from 'mysql2/promise'

const DEADLOCK = 1213
const LOCK_WAIT = 1205

export async function start({ mysqlUrl, connections, way, name, work }) {
  const pool = mysql.createPool({ uri: mysqlUrl, connectionLimit: connections })
  // Fewer locks than the default, and all that this needs.
  pool.pool.on('connection', (connection) =>
    connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'),
  )
  await pool.query(
    `CREATE TABLE ${name}_documents (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, body ` +
      'VARCHAR(2000) NOT NULL) ENGINE=InnoDB',
  )
  await pool.query(
    `CREATE TABLE ${name}_counts (word VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT ` +
      'NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB',
  )

  const upsert = (connection, entries) =>
    connection.query(
      `INSERT INTO ${name}_counts (word, n) VALUES ? ON DUPLICATE KEY UPDATE n = n + VALUES(n)`,
      [entries],
    )

  async function count(connection, counts) {
    const entries = [...counts]
    if (way !== 'word by word') entries.sort(([a], [b]) => (a < b ? -1 : 1))
    if (way === 'one statement') return upsert(connection, entries)
    for (const entry of entries) await upsert(connection, [entry])
  }

  return {
    /** Whether it was written before `until`. */
    async write(body, counts, until) {
      const connection = await pool.getConnection()
      try {
        while (performance.now() < until) {
          try {
            await connection.beginTransaction()
            await connection.query(`INSERT INTO ${name}_documents (body) VALUES (?)`, [body])
            await count(connection, counts)
            await work()
            await connection.commit()
            return true
          } catch (error) {
            await connection.rollback()
            if (error.errno !== DEADLOCK && error.errno !== LOCK_WAIT) throw error
          }
        }
        return false
      } finally {
        connection.release()
      }
    },
    async bodies() {
      const [rows] = await pool.query(`SELECT body FROM ${name}_documents`)
      return rows.map(({ body }) => body)
    },
    async counts() {
      const [rows] = await pool.query(`SELECT word, n FROM ${name}_counts`)
      return new Map(rows.map(({ word, n }) => [word, Number(n)]))
    },
    close: () => pool.end(),
  }
}
