import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ServerLink } from './in-flight.js'
import { CacheServer } from './server.js'

const MIB = 1024 * 1024

test('a value of any length may be sent, but not beside others that fill the bound', () => {
  const link = { requestsInFlight: 0, bytesInFlight: 0 }
  const server = new CacheServer(
    { kind: 'memcached', name: 'h:1', timeoutMs: 500, tls: false },
    () => link as ServerLink,
  )
  const mayBeSent = (requests: number, inFlight: number, bytes: number): boolean => {
    Object.assign(link, { requestsInFlight: requests, bytesInFlight: inFlight })
    try {
      return server.link(bytes) === link
    } catch (error) {
      assert.match(String(error), /h:1 has \d+ requests in flight and is not asked for more/)
      return false
    }
  }
  assert.deepEqual(
    [
      mayBeSent(0, 0, 33 * MIB),
      mayBeSent(1, MIB, 31 * MIB),
      mayBeSent(1, MIB, 31 * MIB + 1),
      mayBeSent(8_191, 0, 0),
      mayBeSent(8_192, 0, 0),
    ],
    [true, true, false, true, false],
  )
})
