/** PostgreSQL behind PgBouncer, which gives each transaction another connection of the server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { PostgresDatabase } from '../../src/database/postgres/postgres.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { testDatabase } from '../../src/testing/database.js'
import { binary, ensureBinaries } from '../servers/binaries.js'
import { freePort } from '../servers/free-port.js'
import { freshPostgresDatabase, handOver, startPostgres, systemUser } from '../servers/postgres.js'
import { endProcess, startProcess, temporaryFolder } from '../servers/process.js'

ensureBinaries(['postgres', 'pgbouncer'])
const server = await startPostgres()
const port = await freePort()
const folder = temporaryFolder('pgbouncer')
const [settings, users] = [join(folder, 'settings'), join(folder, 'users')]
const { username, password } = new URL(server.url())
writeFileSync(users, `"${username}" "${password}"\n`)
writeFileSync(
  settings,
  `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = plain
auth_file = ${users}
pool_mode = transaction
unix_socket_dir =
`,
)
handOver(folder)
const bouncer = startProcess(binary('pgbouncer'), [settings], join(folder, 'log'), {}, systemUser())
after(async () => {
  await endProcess(bouncer, 'SIGTERM')
  await server.stop()
})

function behind(url: string): string {
  const through = new URL(url)
  through.port = String(port)
  return through.href
}

await eventually('PgBouncer takes connections', async () => {
  const database = new PostgresDatabase(behind(server.url()))
  try {
    return (await database.query('SELECT 1')).rows.length === 1
  } catch {
    return false
  } finally {
    await database.close()
  }
})

testDatabase({
  test,
  name: 'PgBouncer',
  async create() {
    const url = behind(await freshPostgresDatabase(server.url()))
    return () => new PostgresDatabase(url)
  },
  capabilities: { binaryType: 'BYTEA', keepsNul: false },
})
