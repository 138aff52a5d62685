/**
 * A MariaDB and a PostgreSQL that are equally durable: each commit is on the disk before it is
 * answered, pages that a power cut tears are repaired, and there is no binary log and no standby.
 */
import pg from 'pg'
import type { Database } from '../../src/database/database.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { PostgresDatabase } from '../../src/database/postgres/postgres.js'
import type { Bench } from '../harness/part.js'
import { asked, rowOf } from '../harness/sql.js'
import { analyze } from '../stats/window.js'

export const MARIADB = 'MariaDB'
export const POSTGRES = 'PostgreSQL'

const MEMORY_MB = 512

const MARIADB_OPTIONS = [
  '--innodb-flush-log-at-trx-commit=1',
  `--innodb-buffer-pool-size=${MEMORY_MB}M`,
  '--innodb-log-file-size=512M',
]

const POSTGRES_SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  shared_buffers: `${MEMORY_MB}MB`,
  autovacuum_naptime: '1min',
  // Counts statements of the databases that ask for it.
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
}

export interface Server {
  readonly label: typeof MARIADB | typeof POSTGRES
  /** Creates an empty database, and returns its URL. */
  create(name: string): Promise<string>
  open(url: string): Database
  /** The next value of a sequence of the database, in SQL. */
  nextval(sequence: string): string
  /** So that the planner knows the tables as it would those of a site that has run for a while. */
  analyze(name: string): Promise<void>
  /** How a program in `bench/peers/` is told of a database. */
  given(url: string): { readonly mysqlUrl: string } | { readonly postgresUrl: string }
  /** Statements that databases of {@link counted} have been sent, or all of the server. */
  statements(): Promise<number>
  counted(name: string): Promise<void>
}

export async function startServers(bench: Bench): Promise<Server[]> {
  const [mariadb, postgres] = await Promise.all([
    bench.mariadb(MARIADB_OPTIONS),
    bench.postgres(POSTGRES_SETTINGS),
  ])
  bench.setting('durability of both', 'each commit on the disk; no binary log, no standby')
  bench.setting('buffers of both, MB', MEMORY_MB)
  await postgres.tell('CREATE EXTENSION pg_stat_statements')
  return [
    {
      label: MARIADB,
      create: mariadb.createDatabase,
      open: (url) => new MysqlDatabase(url),
      nextval: (sequence) => `NEXTVAL(${sequence})`,
      analyze: (name) => asked(mariadb.url(name), analyze),
      given: (mysqlUrl) => ({ mysqlUrl }),
      async statements() {
        const { Value: sent } = await asked(mariadb.url(), (sql) =>
          rowOf<'Value'>(sql, `SHOW GLOBAL STATUS LIKE 'Questions'`),
        )
        return sent
      },
      counted: async () => undefined,
    },
    {
      label: POSTGRES,
      async create(name) {
        await postgres.tell(`CREATE DATABASE ${name}`)
        return postgres.url(name)
      },
      open: (url) => new PostgresDatabase(url),
      nextval: (sequence) => `nextval('${sequence}')`,
      analyze: (name) => postgres.tell('ANALYZE', name),
      given: (postgresUrl) => ({ postgresUrl }),
      async statements() {
        const sql = new pg.Client(postgres.url())
        await sql.connect()
        const { rows } = await sql.query<{ n: string }>(
          'SELECT COALESCE(SUM(calls), 0) AS n FROM pg_stat_statements',
        )
        await sql.end()
        return Number(rows[0]!.n)
      },
      counted: (name) =>
        postgres.tell(`ALTER DATABASE ${name} SET pg_stat_statements.track = 'top'`),
    },
  ]
}
