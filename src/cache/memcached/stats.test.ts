import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../test/servers/free-port.js'
import { startMemcached } from '../../../test/servers/memcached.js'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { sharedMemcached } from '../../../test/servers/shared.js'
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

/** Answers of a faulty server, and the code of the error that each leads to. */
const FAULTS: [what: string, answer: Buffer | 'close' | 'silence', code: string][] = [
  ['silence', 'silence', 'CACHE_TIMEOUT'],
  ['a connection that is cut', 'close', 'CACHE_TIMEOUT'],
  ['another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), 'CACHE_REFUSED'],
  ['lengths that do not add up', Buffer.from(`81100010${'00'.repeat(20)}`, 'hex'), 'CACHE_REFUSED'],
  ['a refused login', Buffer.from(`8121000000000020${'00'.repeat(16)}`, 'hex'), 'CACHE_REFUSED'],
  ['a refused question', Buffer.from(`8110000000000081${'00'.repeat(16)}`, 'hex'), 'CACHE_REFUSED'],
]

for (const [what, answer, code] of FAULTS) {
  test(`${what} rejects, without credentials`, async (t) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        if (answer === 'close') socket.destroy()
        else if (answer !== 'silence') socket.write(answer)
      })
    })
    t.after(() => server.close())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const [address] = memcachedAddresses('servers', `anna:s3cret@127.0.0.1:${port}`)
    await assert.rejects(memcachedStats(address!, 200), (error) => {
      assert(error instanceof Error && 'code' in error)
      assert.equal(error.code, code)
      assert.doesNotMatch(error.message, /s3cret/)
      return true
    })
  })
}

test('a server that is not there rejects at once', async () => {
  const [address] = memcachedAddresses('servers', `127.0.0.1:${await freePort()}`)
  await assert.rejects(memcachedStats(address!, 60_000), {
    code: 'CACHE_UNREACHABLE',
    message: /cannot be reached \(ECONNREFUSED\)$/,
  })
})

test('with a user name the login comes first, as SASL PLAIN', async (t) => {
  const asked: Buffer[] = []
  const packet = (opcode: number, key = '', value = ''): Buffer => {
    const header = Buffer.from(`81${opcode.toString(16).padStart(2, '0')}${'00'.repeat(22)}`, 'hex')
    header.writeUInt16BE(key.length, 2)
    header.writeUInt32BE(key.length + value.length, 8)
    return Buffer.concat([header, Buffer.from(key + value)])
  }
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      asked.push(data)
      // In two pieces, cut within a packet.
      const [login, first, end] = [packet(0x21), packet(0x10, 'version', '1.6'), packet(0x10)]
      const answer = Buffer.concat([login, first, end, packet(0x10, 'item_size_max', '7'), end])
      socket.write(answer.subarray(0, 30))
      setImmediate(() => socket.write(answer.subarray(30)))
    })
  })
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const [address] = memcachedAddresses('servers', `127.0.0.1:${port}`)
  const env = { MEMCACHE_USERNAME: 'anna', MEMCACHE_PASSWORD: 's3cret' }
  const stats = await memcachedStats(address!, 2_000, env)
  assert.deepEqual(
    [...stats],
    [
      ['version', '1.6'],
      ['settings:item_size_max', '7'],
    ],
  )
  const login = Buffer.from('PLAIN\0anna\0s3cret')
  const length = login.length.toString(16).padStart(8, '0')
  assert.equal(asked[0]!.toString('hex', 0, 12), `8021000500000000${length}`)
  assert.deepEqual(asked[0]!.subarray(24, 24 + login.length), login)
})
