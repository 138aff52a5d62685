// SQLite for those who write to it themselves: libsql in the site's own thread, WAL, prepared
// statements.
import Libsql from 'libsql'

export function openSqliteVisits(file) {
  const database = new Libsql(file)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = NORMAL')
  database.exec(
    'CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY, created_at INTEGER, ' +
      'visitor TEXT, page TEXT)',
  )
  database.exec('CREATE INDEX IF NOT EXISTS visits_created_at ON visits (created_at)')
  const insert = database.prepare('INSERT INTO visits (created_at, visitor, page) VALUES (?, ?, ?)')
  const insertOne = ({ time, visitor, page }) => void insert.run(time, visitor, page)
  return {
    insertOne,
    /** All or none. */
    insert: database.transaction((visits) => visits.forEach(insertOne)),
    /** The statistics of all that came at `from` or later. */
    stats: (from) =>
      database
        .prepare('SELECT COUNT(*), COUNT(DISTINCT visitor) FROM visits WHERE created_at >= ?')
        .raw()
        .get(from),
    count: () => database.prepare('SELECT COUNT(*) FROM visits').raw().get()[0],
    empty: () => void database.exec('DELETE FROM visits'),
    close() {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      database.close()
    },
  }
}
