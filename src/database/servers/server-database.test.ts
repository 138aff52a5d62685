import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BurstLogger, SILENT } from '../../support/logger.js'
import { DatabaseError, type DatabaseErrorCategory } from '../database.js'
import { Hosts } from './hosts.js'
import { ServerDatabase } from './server-database.js'
import type { ServerSession, ServerSessions } from './sessions.js'

/** Two hosts. Statements on the first fail with `error`. Notes what becomes of its sessions. */
function twoHosts(error: unknown) {
  const became: string[] = []
  const hostOf = (place: string): ServerSessions => ({
    place,
    maxStatementBytes: 1,
    acquire: async () => sessionOf(place),
    end: () => void became.push(`${place} ended`),
    leave: () => void became.push(`${place} left`),
    dropSilent() {},
    close: async () => undefined,
  })
  const sessionOf = (place: string): ServerSession => ({
    maxStatementBytes: 1,
    async query(sql) {
      if (place === 'A' && sql !== 'SELECT id FROM wide_cache_identity') throw error
      return { rows: [{ id: 'own', place }], affectedRows: 0 }
    },
    async transaction() {
      if (place === 'A') throw error
      return assert.fail()
    },
    recycle: async () => void became.push(`${place} recycled`),
  })
  const hosts = new Hosts(
    [hostOf('A'), hostOf('B')],
    async () => true,
    new BurstLogger(SILENT, () => 0),
  )
  const database = new ServerDatabase({ dialect: 'mysql', hosts, exclusively: () => assert.fail() })
  return { database, became }
}

const refused = (code: string, category: DatabaseErrorCategory) =>
  new DatabaseError(code, category, 'refused')

test('a statement that fails keeps its connection, unless that is of no use', async () => {
  for (const [error, becomes] of [
    [refused('ER_DUP_ENTRY', 'data'), ['A recycled']],
    [refused('ER_PARSE_ERROR', 'usage'), ['A recycled']],
    [refused('ER_LOCK_WAIT_TIMEOUT', 'lock'), ['A recycled']],
    [refused('ER_CON_COUNT_ERROR', 'capacity'), ['A recycled']],
    [new Error('a mistake'), ['A recycled']],
    [refused('ECONNRESET', 'unreachable'), ['A ended']],
    [refused('ETIMEDOUT', 'unreachable'), ['A ended']],
    [refused('ER_OPTION_PREVENTS_STATEMENT', 'capacity'), ['A ended', 'A left']],
    [refused('25006', 'capacity'), ['A ended', 'A left']],
    ...[
      'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
      'ER_READ_ONLY_MODE',
      'ER_UNKNOWN_COM_ERROR',
      'ER_SERVER_OFFLINE_MODE',
      'ER_RUN_HOOK_ERROR',
      'ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED',
      'ER_GRP_TRX_CONSISTENCY_BEFORE',
    ].map((code) => [refused(code, 'capacity'), ['A ended', 'A left']] as const),
  ] as const) {
    const { database, became } = twoHosts(error)
    const code = 'code' in error ? error.code : error.message
    await assert.rejects(database.query('SELECT 1'), error)
    assert.deepEqual(became, becomes, code)
    if (becomes.length > 1) {
      assert.equal((await database.query('SELECT 1')).rows[0]?.['place'], 'B')
    }
    await database.close()
  }
})

test('a transaction that fails never keeps its connection', async () => {
  for (const error of [refused('ER_DUP_ENTRY', 'data'), new Error('a mistake')]) {
    const { database, became } = twoHosts(error)
    await assert.rejects(
      database.transaction(async () => undefined),
      error,
    )
    assert.deepEqual(became, ['A ended'])
    await database.close()
  }
})
