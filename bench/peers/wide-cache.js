// (c) wide-cache on memcached, as its README says. The collector runs between the rounds, as on a machine of
// its own, and what it brought to SQL is the count.
import mysql from 'mysql2/promise'
import { createActivity } from 'wide-cache'

export function start({ memcached, mysqlUrl }) {
  const activity = createActivity({ cache: `memcached://${memcached}`, database: mysqlUrl, collect: false })
  const pool = mysql.createPool(mysqlUrl)
  return {
    use(app) { app.use(activity.middleware()) },
    async count() {
      await activity.flush()
      await activity.drain({ all: true })
      const [[row]] = await pool.query('SELECT COUNT(*) AS n FROM activities')
      return Number(row.n)
    },
    async close() {
      await activity.close()
      await pool.end()
    },
  }
}
