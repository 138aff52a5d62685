// The limit of whoever sums up what a page is to show: the same INSERTs, and in their transactions
// the views of each second and the newest second of each visitor. No grid, no ledger.
import { open as openInserts, ROWS_A_STATEMENT } from './bulk-insert.js'

export const open = (options) =>
  openInserts(options, async (connection, visits, name) => {
    const views = new Map()
    const newest = new Map()
    // In the order of time: the last one is the newest. A visitor's visits share one Buffer.
    for (const { time, visitor } of visits) {
      const second = Math.floor(time / 1000)
      views.set(second, (views.get(second) ?? 0) + 1)
      newest.set(visitor, second)
    }
    const seconds = [...views].map(([second, count]) => [name, second, count])
    await connection.query(
      'INSERT INTO activity_seconds (name, second, views) ' +
        'VALUES ? ON DUPLICATE KEY UPDATE views = views + VALUES(views)',
      [seconds],
    )
    const visitors = [...newest]
      .sort(([a], [b]) => a.compare(b))
      .map(([visitor, second]) => [name, visitor, second])
    for (let from = 0; from < visitors.length; from += ROWS_A_STATEMENT) {
      await connection.query(
        'INSERT INTO activity_visitors (name, visitor, last_second) VALUES ? ' +
          'ON DUPLICATE KEY UPDATE last_second = GREATEST(last_second, VALUES(last_second))',
        [visitors.slice(from, from + ROWS_A_STATEMENT)],
      )
    }
  })
