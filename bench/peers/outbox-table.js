// The transactional outbox: entries are inserted in the caller's transaction, and one reader
// exports the oldest in the order of their ids and deletes them. (Ids are not given in the order of
// commits, so that two entries of one key may come the wrong way round, and a second reader would
// export all twice.)
import { openPool } from './pool.js'

const ENTRIES_A_BATCH = 500

export async function start({ mysqlUrl, connections, exporter }) {
  const pool = await openPool(
    mysqlUrl,
    connections,
    'CREATE TABLE bench_outbox (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, entry_key ' +
      'VARCHAR(50) NOT NULL, entry_value VARCHAR(50) NOT NULL) ENGINE=InnoDB',
  )
  return {
    async add(key, value) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        await connection.query('INSERT INTO bench_outbox (entry_key, entry_value) VALUES (?, ?)', [
          key,
          value,
        ])
        await connection.commit()
      } finally {
        connection.release()
      }
    },
    async process() {
      const [rows] = await pool.query(
        `SELECT id, entry_key AS \`key\`, entry_value AS value FROM bench_outbox ORDER BY id ` +
          `LIMIT ${ENTRIES_A_BATCH}`,
      )
      if (rows.length === 0) return 0
      await exporter(rows)
      await pool.query('DELETE FROM bench_outbox WHERE id IN (?)', [rows.map(({ id }) => id)])
      return rows.length
    },
    close: () => pool.end(),
  }
}
