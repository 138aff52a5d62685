/** A message of an error tells what to do, where that can be known. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memcached } from '../cache/memcached/memcached.js'
import { mysqlError } from './mysql/errors.js'
import { queueFull, silence } from './servers/errors.js'
import { sqliteError } from './sqlite/errors.js'

function serverError(code: string, errno: number): Error {
  return mysqlError(
    Object.assign(new Error(), { code, errno, sqlState: 'HY000', sqlMessage: 'It fails' }),
  )
}

for (const [what, { message }, remedy] of [
  ['a full disk', serverError('ER_DISK_FULL', 1021), /It fails\. Free space/],
  ['a full table', serverError('ER_RECORD_FILE_FULL', 1114), /Free space/],
  ['a read-only server', serverError('ER_OPTION_PREVENTS_STATEMENT', 1290), /takes writes/],
  ['too many connections', serverError('ER_TOO_MANY_USER_CONNECTIONS', 1203), /connection_limit/],
  ['a deadlock', serverError('ER_LOCK_DEADLOCK', 1213), /: retry its work$/],
  ['a lock-wait timeout', serverError('ER_LOCK_WAIT_TIMEOUT', 1205), /Keep transactions short/],
  ['a missing table', serverError('ER_NO_SUCH_TABLE', 1146), /wide-cache migrate/],
  ['a full queue', queueFull(), /raise connection_limit/],
  ['no answer', silence(60_000), /within 60 s\. Check the network/],
  [
    'a busy file',
    sqliteError({ code: 'SQLITE_BUSY', raw: 5, message: 'busy' }),
    /: busy\. Another/,
  ],
  ['a full file system', sqliteError({ code: 'SQLITE_FULL', raw: 13, message: 'x' }), /Free space/],
  ['a foreign file', sqliteError({ code: 'SQLITE_NOTADB', raw: 26, message: 'x' }), /another file/],
] as const) {
  test(`the message of ${what} has the remedy`, () => assert.match(message, remedy))
}

test('a memcached that cannot be reached is named, with what to check', async () => {
  const cache = memcached('127.0.0.1:1')
  await assert.rejects(cache.get('key'), {
    code: 'CACHE_UNREACHABLE',
    message: /127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\): check its address/,
  })
  await assert.rejects(cache.get('key'), {
    message: /cannot be reached.*: check its address.*; it is retried every 1000 ms$/,
  })
  await cache.close()
})
