// The table `counts`, where contenders that keep sums have one row for each page.
import { numberOf, openPool } from './pool.js'

/** Makes the table, and resolves when it is there. */
export async function openCounts(mysqlUrl) {
  const pool = await openPool(
    mysqlUrl,
    1,
    'CREATE TABLE IF NOT EXISTS counts (page VARCHAR(200) NOT NULL PRIMARY KEY, ' +
      'views BIGINT NOT NULL)',
  )
  return {
    /** One statement, committed by itself. */
    add: (page, views) =>
      pool.execute(
        'INSERT INTO counts (page, views) VALUES (?, ?) ON DUPLICATE KEY UPDATE views = views + ?',
        [page, views, views],
      ),
    count: () => numberOf(pool, 'SELECT COALESCE(SUM(views), 0) AS n FROM counts'),
    close: () => pool.end(),
  }
}

/** The views of each page that have not been taken yet. */
export class Views {
  #views = new Map()

  add(page, views = 1) {
    this.#views.set(page, (this.#views.get(page) ?? 0) + views)
  }

  take() {
    const taken = this.#views
    this.#views = new Map()
    return taken
  }
}
