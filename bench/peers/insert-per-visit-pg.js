// One INSERT per visit by pg, not awaited by the request.
import pg from 'pg'
import { contender } from './express.js'

export async function start({ postgresUrl }) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 10 })
  await pool.query(
    'CREATE TABLE IF NOT EXISTS visits (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ' +
      'created_at BIGINT, visitor VARCHAR(300), page VARCHAR(1024))',
  )
  await pool.query('CREATE INDEX IF NOT EXISTS visits_by_time ON visits (created_at)')
  return contender(
    ({ time, visitor, page }) =>
      pool.query('INSERT INTO visits (created_at, visitor, page) VALUES ($1, $2, $3)', [
        time,
        visitor,
        page,
      ]),
    {
      async count() {
        const { rows } = await pool.query('SELECT COUNT(*) AS n FROM visits')
        return Number(rows[0].n)
      },
      close: () => pool.end(),
    },
  )
}
