import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { hostClock } from './host-clock.js'
import { startMariadb } from './mariadb.js'
import { temporaryFolder } from './process.js'

const DAY_MS = 24 * 3600_000

/** Prints the clocks of SQLite and of Node. */
const PRINTS = `
const database = new (require('libsql'))(process.argv[1])
const { now } = database.prepare("SELECT unixepoch('subsec') * 1000 AS now").get()
console.log(JSON.stringify({ sqlite: now, node: Date.now() }))`

test('the clock of a host is that of its MariaDB, its SQLite and its Node', async () => {
  const host = hostClock()
  const server = await startMariadb([], { env: host.env })
  after(() => server.kill())
  const database = mysql(server.url())
  after(() => database.close())
  const file = join(temporaryFolder('clock'), 'file.db')
  const print = async () => {
    const env = { ...process.env, ...host.env }
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', PRINTS, file], { env })
    return JSON.parse(stdout) as Record<'sqlite' | 'node', number>
  }
  const isWrongBy = (time: number, ms: number): boolean => Math.abs(time - Date.now() - ms) < 10_000
  for (const ms of [0, 26 * 3600_000, -3600_000, 30 * DAY_MS, 0]) {
    host.step(ms)
    await eventually('MariaDB', async () => isWrongBy(await database.now(), ms))
    const { sqlite, node } = await print()
    assert(isWrongBy(sqlite, ms), `SQLite: ${sqlite - Date.now()}`)
    assert(isWrongBy(node, ms), `Node: ${node - Date.now()}`)
  }
})
