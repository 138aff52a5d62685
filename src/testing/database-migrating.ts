/** Migrating makes the tables that are asked for, once, and refuses tables that are not its own. */
import assert from 'node:assert/strict'
import type { DatabaseTest } from './on-database.js'
import { rejects } from './rejects.js'

export function testMigrating(it: DatabaseTest): void {
  it('several uses that migrate at once make the tables once', async (database, open) => {
    const others = Array.from({ length: 4 }, open)
    await Promise.all([database, ...others].map((one) => one.migrate(['sequence', 'counters'])))
    const { rows } = await database.query(
      'SELECT part, COUNT(*) AS n, MAX(version) AS newest FROM wide_cache_migrations GROUP BY part',
    )
    assert.deepEqual(rows.map(({ part }) => part).sort(), ['counters', 'sequence'])
    for (const { n, newest } of rows) assert.equal(n, newest, 'each migration is recorded once')
    await database.query('SELECT name FROM sequence_generations')
    await database.migrate(['sequence'])
  })

  it('only the tables that are asked for are made', async (database) => {
    await database.migrate(['sequence'])
    await database.query('SELECT name FROM sequence_generations')
    await rejects(database.query('SELECT name FROM wide_cache_grids'), 'usage')
    await database.migrate()
    await database.query('SELECT name FROM wide_cache_grids')
  })

  it('a foreign table with one of our names is refused; nothing is written', async (database) => {
    await database.query('CREATE TABLE activities (id INTEGER NOT NULL, title VARCHAR(20))')
    const error = await rejects(database.migrate(), 'usage', 'DATABASE_FOREIGN_TABLE')
    assert.ok(error.message.includes('activities'), 'the message names the table')
    await rejects(database.query('SELECT name FROM wide_cache_grids'), 'usage')
    await rejects(database.query('SELECT version FROM wide_cache_migrations'), 'usage')
    await database.migrate(['wide-cache'])
    await database.query('SELECT name FROM wide_cache_grids')
  })

  it('tables that a newer version has made are refused', async (database, open) => {
    await database.migrate(['sequence'])
    await database.query(
      'INSERT INTO wide_cache_migrations (part, version, name, applied_at, oldest) ' +
        "VALUES ('sequence', 9999, 'later', 0, 9999)",
    )
    await rejects(open().migrate(['sequence']), 'usage', 'DATABASE_NEWER')
  })
}
