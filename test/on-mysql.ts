/**
 * `npm run test:mysql`: the tests that touch MySQL or MariaDB, on a real MySQL, which is named by a
 * variable.
 */
import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { needsOf } from './needs.js'
import { binary, MYSQLD_VARIABLE } from './servers/binaries.js'
import { MYSQL_VARIABLE } from './servers/shared.js'

/** The URL of a running MySQL that tests are to share, if it is named. */
export const runningMysql = (): string | undefined => process.env[MYSQL_VARIABLE]

/**
 * Returns those of `files` that touch MySQL. On a MySQL that runs already, tests that start servers
 * of their own are left out.
 *
 * @throws Error if no MySQL is named
 */
export function onMysql(files: readonly string[]): string[] {
  const touching = files.filter((file) => needsOf([file]).programs.has('mariadb'))
  if (runningMysql()) return touching.filter((file) => !needsOf([file]).own.has('mariadb'))
  if (process.env[MYSQLD_VARIABLE] && basename(realpathSync(binary('mariadb'))) !== 'mariadbd') {
    return touching
  }
  throw new Error(
    `npm run test:mysql needs MySQL 8.0 or later. Set ${MYSQLD_VARIABLE} to the path of its ` +
      `mysqld, not of MariaDB's. Or set ${MYSQL_VARIABLE} to ` +
      'mysql://root:password@host:port/mysql of a running MySQL that serves nothing else: then ' +
      'tests that start servers are left out',
  )
}

/** Gives a running MySQL the settings that the tests give to the servers that they start. */
export async function prepareMysql(url: string): Promise<void> {
  const connection = await createConnection(url)
  await connection.query('SET GLOBAL local_infile = ON, GLOBAL max_allowed_packet = 16777216')
  await connection.query('SET GLOBAL max_connections = 200')
  await connection.end()
}
