// wide-cache on memcached, as its README says. The collector runs elsewhere (`finish` plays it,
// between the rounds of a benchmark), and what it brought to SQL is the count.
import pg from 'pg'
import { createActivity } from 'wide-cache'
import { numberOf, openPool } from './pool.js'

/**
 * @param {{ memcached: string, mysqlUrl?: string, postgresUrl?: string, name?: string,
 *   width?: number, options?: object }} given `options`: those of createActivity()
 */
export function start({
  memcached,
  mysqlUrl,
  postgresUrl,
  name = 'activity',
  width = 15,
  options = {},
}) {
  const activity = createActivity({
    cache: `memcached://${memcached}`,
    database: postgresUrl ?? mysqlUrl,
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
    use: (app) => app.use(activity.middleware()),
    record: ({ time, visitor, page }) => activity.record({ at: time, visitor, page }),
    /** All is in the cache. */
    flush: () => activity.flush(),
    /** All is in SQL. */
    finish,
    async count() {
      await finish()
      return postgresUrl ? rowsInPostgres(postgresUrl, name) : rowsInMysql(mysqlUrl, name)
    },
    close: () => activity.close(),
  }
}

/** A collector in a process of its own, as `wide-cache collect` has it, on the default schedule. */
export function startWorker({ options, ...env }) {
  const { finish, close } = start({ ...env, options: { ...options, collect: undefined } })
  return { drain: finish, close }
}

const ROWS = 'SELECT COUNT(*) AS n FROM activities WHERE name = '

async function rowsInMysql(url, name) {
  const pool = await openPool(url, 1)
  const rows = await numberOf(pool, `${ROWS}'${name}'`)
  await pool.end()
  return rows
}

async function rowsInPostgres(url, name) {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(`${ROWS}'${name}'`)
  await client.end()
  return Number(rows[0].n)
}
