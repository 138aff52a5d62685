/**
 * A process that migrates the database `argv[2]` by the folder `argv[3]`, as soon as a line comes
 * in.
 */
import { once } from 'node:events'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { PostgresDatabase } from '../../src/database/postgres/postgres.js'
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.js'

const [, , url = '', folder = ''] = process.argv
const database = url.startsWith('sqlite:')
  ? new SqliteDatabase(url.slice('sqlite:'.length))
  : new (url.startsWith('postgres:') ? PostgresDatabase : MysqlDatabase)(url)
console.log('ready')
await once(process.stdin, 'data')
process.stdin.destroy()
await database.migrate(['part'], new URL(folder))
await database.close()
