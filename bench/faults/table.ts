/** The table that the visits of a contender come to, which keeps when each of its rows came. */
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import { asked } from '../harness/sql.js'
import { openCounts } from '../peers/counts.js'
import { openVisits } from '../peers/visits.js'

type VisitTable = 'visits' | 'activities' | 'counts'

const TABLES: Readonly<Record<string, VisitTable>> = {
  'wide-cache': 'activities',
  'redis-hash': 'counts',
  'buffer-updates': 'counts',
}

/** The table of a file in `bench/peers/`. */
export const tableOf = (peer: string): VisitTable => TABLES[peer] ?? 'visits'

/**
 * Creates `database` with the table of a peer, whose column `arrived` has the time of each row.
 * Returns its URL.
 */
export async function openTable(mariadb: MariaDb, database: string, peer: string): Promise<string> {
  const table = tableOf(peer)
  const url = await mariadb.createDatabase(database)
  if (table === 'activities') {
    const tables = new MysqlDatabase(url)
    await tables.migrate()
    await tables.close()
  } else await (await (table === 'counts' ? openCounts : openVisits)(url)).close()
  const arrived = 'arrived DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)'
  await asked(url, (sql) => sql.query(`ALTER TABLE ${table} ADD COLUMN ${arrived}`))
  return url
}
