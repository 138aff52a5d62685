// (c) wide-cache on memcached, as its README says. The collector runs elsewhere (`finish` plays it,
// between the rounds of a benchmark), and what it brought to SQL is the count.
import mysql from 'mysql2/promise'
import { createActivity } from 'wide-cache'

/** `options`: those of createActivity(). */
export function start({ memcached, mysqlUrl, name = 'activity', width = 15, options = {} }) {
  const activity = createActivity({
    cache: `memcached://${memcached}`,
    database: mysqlUrl,
    collect: false,
    name,
    width,
    ...options,
  })
  const finish = async () => {
    await activity.flush()
    await activity.drain({ all: true })
  }
  return {
    use(app) {
      app.use(activity.middleware())
    },
    record: ({ time, visitor, page }) => activity.record({ at: time, visitor, page }),
    /** All is in the cache. */
    flush: () => activity.flush(),
    /** All is in SQL. */
    finish,
    async count() {
      await finish()
      const connection = await mysql.createConnection(mysqlUrl)
      const [[row]] = await connection.query(
        'SELECT COUNT(*) AS n FROM activities WHERE name = ?',
        [name],
      )
      await connection.end()
      return Number(row.n)
    },
    close: () => activity.close(),
  }
}
