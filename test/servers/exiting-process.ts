/**
 * A process that calls `process.exit(0)` while its statement waits for the lock of another process
 * on the SQLite file `argv[2]`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { sqlite } from '../../src/database/sqlite/sqlite.js'

const database = sqlite(process.argv[2] ?? '')
void database.query('INSERT INTO numbers VALUES (2)').catch(() => undefined)
await delay(1_000)
process.exit(0)
