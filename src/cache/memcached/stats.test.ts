import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { stoppedTime } from '../../../test/servers/cache-behind-proxy.js'
import { freePort } from '../../../test/servers/free-port.js'
import { startMemcached } from '../../../test/servers/memcached.js'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { sharedMemcached } from '../../../test/servers/shared.js'
import { CacheError } from '../cache.js'
import { eventually } from '../../support/eventually.fixture.js'
import { memcachedAddresses } from './addresses.js'
import { memcachedStats } from './stats.js'

test('a server tells of its statistics and settings', async () => {
  const [address] = memcachedAddresses('servers', await sharedMemcached())
  const stats = await memcachedStats(address!, 2_000)
  assert.match(stats.get('version') ?? '', /^\d+\.\d+\.\d+/)
  assert(Math.abs(Number(stats.get('time')) * 1000 - Date.now()) < 5_000)
  assert(Number(stats.get('limit_maxbytes')) > 0)
  assert(Number(stats.get('settings:item_size_max')) >= 1_048_576)
  assert.equal(stats.get('settings:memory_file'), '(null)')
})

test('a server that keeps its memory in a file tells of the file', async () => {
  const folder = temporaryFolder('memory-file')
  chmodSync(folder, 0o777)
  const file = join(folder, 'memory')
  const server = await startMemcached({ args: ['-e', file] })
  try {
    const stats = await memcachedStats(memcachedAddresses('servers', server.address)[0]!, 2_000)
    assert.equal(stats.get('settings:memory_file'), file)
  } finally {
    await server.kill()
    removeFolder(folder)
  }
})

/** A reply to the request. */
function reply(request: Buffer, status: number, text = ''): Buffer {
  const bytes = Buffer.from(`81${request.toString('hex', 1, 2)}${'00'.repeat(22)}`, 'hex')
  bytes.writeUInt16BE(status, 6)
  bytes.writeUInt32BE(text.length, 8)
  request.copy(bytes, 12, 12, 16)
  return Buffer.concat([bytes, Buffer.from(text)])
}

/** Answers of a faulty server, and the error that each leads to. */
const FAULTS: [what: string, answer: (request: Buffer) => Buffer | 'close' | '', error: RegExp][] =
  [
    ['silence', () => '', /^CACHE_UNREACHABLE.* within 200 ms/],
    ['silence after the login', loggedIn(() => ''), /^CACHE_.* within 200 ms/],
    ['a connection that is cut', loggedIn(() => 'close'), /^CACHE_TIMEOUT.* broke the connection/],
    [
      'another protocol',
      loggedIn(() => HTTP),
      /^CACHE_REFUSED.* does not speak the binary protocol/,
    ],
    [
      'half a reply',
      loggedIn((request) => reply(request, 0).subarray(0, 20)),
      /^CACHE_.* within 200 ms/,
    ],
    [
      'a refused login',
      (request) => reply(request, 0x20),
      /^CACHE_REFUSED.* refuses the user name/,
    ],
    [
      'a refused question',
      loggedIn((request) => reply(request, 0x81, 'Unknown command')),
      /^CACHE_REFUSED.* 0x81: Unknown command/,
    ],
  ]

const HTTP = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')

/** Accepts the two requests of a login. */
function loggedIn<A>(answer: (request: Buffer) => A): (request: Buffer) => A | Buffer {
  return (request) => (request[1] === 0x10 ? answer(request) : reply(request, 0))
}

for (const [what, answer, expected] of FAULTS) {
  test(`${what} rejects, without credentials`, async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (data) => {
        const bytes = answer(data)
        if (bytes === 'close') socket.destroy()
        else socket.write(bytes)
      })
    })
    t.after(() => server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const [address] = memcachedAddresses('servers', `anna:s3cret@127.0.0.1:${port}`)
    await assert.rejects(memcachedStats(address!, 200), (error) => {
      assert(error instanceof CacheError)
      assert.match(`${error.code} ${error.message}`, expected)
      assert.doesNotMatch(error.message, /s3cret/)
      return true
    })
  })
}

test('the time of a request begins when the connection is made', async (t) => {
  const time = stoppedTime(t)
  const requests: ((status: number) => void)[] = []
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      for (let at = 0; at < data.length; at += 24 + data.readUInt32BE(at + 8)) {
        const request = data.subarray(at)
        requests.push((status) => socket.write(reply(request, status)))
      }
    })
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const [address] = memcachedAddresses('servers', `anna:s3cret@127.0.0.1:${port}`)
  const stats = memcachedStats(address!, 10)
  // The list of mechanisms and the login, then the two questions.
  for (const count of [1, 2, 4]) {
    await eventually('the requests come', () => requests.length === count)
    time.pass(4)
    // Several timers of 10 ms.
    await sleep(100)
    for (const answer of requests.slice(count === 4 ? 2 : count - 1)) answer(0)
  }
  assert.deepEqual([...(await stats)], [])
})

test('a server that is not there rejects at once', async () => {
  const [address] = memcachedAddresses('servers', `127.0.0.1:${await freePort()}`)
  await assert.rejects(memcachedStats(address!, 60_000), {
    code: 'CACHE_UNREACHABLE',
    message: /cannot be reached \(ECONNREFUSED\)/,
  })
})
