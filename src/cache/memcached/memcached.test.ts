import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { testCache } from '../../testing/cache.js'
import { testCacheModel } from '../model.suite.js'
import { memcached } from './memcached.js'
import { type FaultyTcp, startFaultyTcp } from '../../../test/servers/faulty-tcp.js'
import { type Memcached, PATIENT, startMemcached } from '../../../test/servers/memcached.js'

const MIB = 1024 * 1024
const x = Buffer.from('x')

let server: Memcached
let three: Memcached[]
let silent: FaultyTcp
before(async () => {
  three = await Promise.all([startMemcached(), startMemcached(), startMemcached()])
  server = three[0] ?? assert.fail()
  silent = await startFaultyTcp(three[1]?.address ?? assert.fail())
  silent.swallow()
})
after(() => Promise.all([silent.close(), ...three.map((one) => one.kill())]))

const one = () => memcached(server.address, PATIENT)
const all = () => memcached(three.map((one) => one.address).join(), PATIENT)
/** Long enough for the server that answers, on a busy machine. */
const besideSilent = () => memcached(`${server.address},${silent.address}`, { timeoutMs: 3_000 })
const capabilities = { itemLimitBytes: MIB, createSilent: besideSilent }
testCache({ test, name: 'memcached', create: one, capabilities })
testCache({
  test,
  name: 'three memcached servers',
  create: all,
  capabilities: { itemLimitBytes: MIB },
})
testCacheModel(test, 'memcached', one)
testCacheModel(test, 'three memcached servers', all, 20)

test('memcached: a key that no cache could take is named as the option that it is', async () => {
  const cache = one()
  await assert.rejects(cache.get('a b'), { name: 'RangeError', message: /option "key"/ })
  await cache.close()
})

describe('memcached: several servers', () => {
  test('each holds about its share, whatever the order of the list', async () => {
    const addresses = three.map((one) => one.address)
    const forth = memcached(addresses.join(), PATIENT)
    const back = memcached([...addresses].reverse().join(', '), PATIENT)
    const keys = Array.from({ length: 900 }, (_, i) => `order:${i}`)
    await Promise.all(keys.map((key) => forth.set(key, x, 60)))
    assert.equal((await back.getMany(keys)).size, 900)
    for (const one of addresses) {
      const alone = memcached(one, PATIENT)
      const share = (await alone.getMany(keys)).size
      assert.ok(share > 180 && share < 420, `${share} of 900`)
      await alone.close()
    }
    await Promise.all([forth.close(), back.close()])
  })
})

describe('memcached: log in and close', () => {
  test('SASL sends user and password first; a refusal does not show them', async () => {
    let accept = true
    const said: Buffer[] = []
    const reply = (socket: Socket, request: Buffer, status: number, body = '') => {
      const header = Buffer.alloc(24)
      header[0] = 0x81
      header[1] = request[1] ?? 0
      header.writeUInt16BE(status, 6)
      header.writeUInt32BE(body.length, 8)
      request.copy(header, 12, 12, 16)
      socket.write(Buffer.concat([header, Buffer.from(body)]))
    }
    const sasl = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (request) => {
        said.push(request)
        if (request[1] === 0x20) reply(socket, request, 0, 'PLAIN')
        else if (request[1] === 0x21) reply(socket, request, accept ? 0 : 0x20)
        else reply(socket, request, 1)
      })
    })
    await new Promise<void>((resolve) => sasl.listen(0, '127.0.0.1', resolve))
    const address = sasl.address()
    assert.ok(typeof address === 'object' && address)
    const cache = memcached(`memcached://anna:s%40cret@127.0.0.1:${address.port}`, PATIENT)
    assert.equal(await cache.get('k'), undefined)
    assert.deepEqual(
      said.map((request) => request[1]),
      [0x20, 0x21, 0x00],
    )
    assert.match(String(said[1]), /PLAIN\0anna\0s@cret$/)
    await cache.close()
    accept = false
    const refused = memcached(`anna:s%40cret@127.0.0.1:${address.port}`, PATIENT)
    await assert.rejects(refused.get('k'), (error: Error & { code: string }) => {
      assert.equal(error.code, 'CACHE_REFUSED')
      assert.doesNotMatch(error.message + String(error.cause), /anna|cret/)
      return true
    })
    await refused.close()
    await new Promise((resolve) => sasl.close(resolve))
  })
})

test('memcached: wrong server lists and options are refused by name, without credentials', () => {
  for (const wrong of [
    '',
    ' ',
    ',',
    'a,',
    'a:0',
    'a:65536',
    'a:b',
    'a b',
    'http://a',
    'memcache://a',
    'a:1,a:1',
    'a,A:11211',
    'u@h',
    'u:@h',
    '@h',
    '%:p@h',
    'a/b',
    '[::1',
    'ä',
  ]) {
    assert.throws(
      () => memcached(wrong),
      { name: 'RangeError', message: /option "servers" is .*; allowed: memcached:\/\/host:port/ },
      wrong,
    )
  }
  // @ts-expect-error a list that is no string
  assert.throws(() => memcached(['a:1']), {
    name: 'TypeError',
    message: /option "servers" is an array/,
  })
  assert.throws(
    () => memcached('anna:s@cret,secret:x@h:0'),
    (error: Error) => !/anna|cret/.test(error.message),
  )
  assert.throws(() => memcached('a', { timeoutMs: 0 }), {
    name: 'RangeError',
    message: /option "timeoutMs" is 0/,
  })
  // @ts-expect-error no such option
  assert.throws(() => memcached('a', { retries: 2 }), {
    name: 'TypeError',
    message: /option "retries"/,
  })
})

test('memcached: accepts host names, IPv4 and IPv6 addresses, with or without port', async () => {
  for (const right of [
    'a',
    'cache-1.example.org:11212',
    '127.0.0.1',
    '[::1]:11211,[::1]:11212',
    'memcached://a:1,b:2/',
    'memcached://u:p@a,b',
    ' a , b ',
  ]) {
    const cache = memcached(right)
    assert.equal(cache.scope, 'shared')
    await cache.close()
  }
})
