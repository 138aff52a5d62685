// The table `visits`, where the contenders without tables of their own have theirs.
import { numberOf, openPool, partsOf } from './pool.js'

// The statements that are the fastest have 500 to 1,000 rows.
const ROWS_A_STATEMENT = 1000
const INSERT = 'INSERT INTO visits (created_at, visitor, page) VALUES'

/** Makes the table, and resolves when it is there. */
export async function openVisits(mysqlUrl, connectionLimit = 10) {
  const pool = await openPool(
    mysqlUrl,
    connectionLimit,
    'CREATE TABLE IF NOT EXISTS visits (id BIGINT AUTO_INCREMENT PRIMARY KEY, created_at ' +
      'BIGINT, visitor VARCHAR(300), page VARCHAR(1024), KEY (created_at))',
  )
  return {
    insertOne: ({ time, visitor, page }) =>
      pool.query(`${INSERT} (?, ?, ?)`, [time, visitor, page]),
    /** All or none: in one transaction where one statement does not do. */
    async insert(visits) {
      const connection = await pool.getConnection()
      try {
        if (visits.length > ROWS_A_STATEMENT) await connection.beginTransaction()
        for (const part of partsOf(visits, ROWS_A_STATEMENT)) {
          const rows = part.map(({ time, visitor, page }) => [time, visitor, page])
          await connection.query(`${INSERT} ?`, [rows])
        }
        if (visits.length > ROWS_A_STATEMENT) await connection.commit()
        connection.release()
      } catch (error) {
        connection.destroy()
        throw error
      }
    },
    count: () => numberOf(pool, 'SELECT COUNT(*) AS n FROM visits'),
    close: () => pool.end(),
  }
}
