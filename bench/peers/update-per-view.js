// View counts as a column of the item, raised by an UPDATE per view.
import { numberOf, openPool } from './pool.js'

export async function start({ mysqlUrl, connections, items }) {
  const pool = await openPool(
    mysqlUrl,
    connections,
    'CREATE TABLE bench_items (id INT NOT NULL PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0) ' +
      'ENGINE=InnoDB',
  )
  await pool.query('INSERT INTO bench_items (id) VALUES ?', [
    Array.from({ length: items }, (_, id) => [id]),
  ])
  return {
    view: (item) => pool.query('UPDATE bench_items SET views = views + 1 WHERE id = ?', [item]),
    total: () => numberOf(pool, 'SELECT SUM(views) AS n FROM bench_items'),
    close: () => pool.end(),
  }
}
