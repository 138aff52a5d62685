// View counts as a column of the item, raised by an UPDATE per view.
import mysql from 'mysql2/promise'

export async function start({ mysqlUrl, connections, items }) {
  const pool = mysql.createPool({ uri: mysqlUrl, connectionLimit: connections })
  await pool.query(
    'CREATE TABLE bench_items (id INT NOT NULL PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0) ' +
      'ENGINE=InnoDB',
  )
  await pool.query('INSERT INTO bench_items (id) VALUES ?', [
    Array.from({ length: items }, (_, id) => [id]),
  ])
  return {
    view: (item) => pool.query('UPDATE bench_items SET views = views + 1 WHERE id = ?', [item]),
    async total() {
      const [[row]] = await pool.query('SELECT SUM(views) AS views FROM bench_items')
      return Number(row.views)
    },
    close: () => pool.end(),
  }
}
