import test from 'node:test'
import { testDatabase } from '../../testing/database.js'
import { freePort } from '../../../test/servers/free-port.js'
import { sharedPostgresUrl } from '../../../test/servers/shared.js'
import { testMigrations } from '../migrations.suite.js'
import { PostgresDatabase } from './postgres.js'

const unusedPort = await freePort()
testDatabase({
  test,
  name: 'postgres',
  async create() {
    const url = await sharedPostgresUrl()
    return () => new PostgresDatabase(url)
  },
  capabilities: {
    binaryType: 'BYTEA',
    keepsNul: false,
    createUnreachable: () => new PostgresDatabase(`postgres://user@127.0.0.1:${unusedPort}/site`),
  },
})
testMigrations({
  test,
  name: 'postgres',
  fresh: sharedPostgresUrl,
  open: (url) => new PostgresDatabase(url),
  processes: 5,
})
