/** Rows of the table of what memcached can say, provoked on a real server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memcached } from './memcached.js'
import { SAID } from './said.js'
import { PATIENT, startMemcached } from '../../../test/servers/memcached.js'
import { sharedMemcached } from '../../../test/servers/shared.js'

const x = Buffer.from('x')

async function refused(asked: Promise<unknown>, status: string): Promise<void> {
  const { remedy } = SAID.find(({ codes }) => codes.includes(status))!
  await assert.rejects(asked, ({ code, message }: Error & { code: string }) => {
    assert.equal(code, 'CACHE_REFUSED')
    assert(message.includes(`(status ${status}: `) && message.endsWith(`): ${remedy}`), message)
    return true
  })
}

test('what is no number is told apart from other refusals', async () => {
  const cache = memcached(await sharedMemcached(), PATIENT)
  await cache.set('text', x, 60)
  await refused(cache.increment('text'), '0x06')
  await cache.close()
})

test('a server that evicts nothing and is full asks for more memory', async () => {
  const server = await startMemcached({ memoryMb: 2, args: ['-M'] })
  const cache = memcached(server.address, PATIENT)
  try {
    const page = Buffer.alloc(500_000)
    for (let n = 0; await cache.set(`page:${n}`, page, 60); n++) assert(n < 1_000)
    const numbers = async (): Promise<never> => {
      for (let n = 0; ; n++) await cache.increment(`n:${n}`, 1, { initial: 0, ttlSeconds: 60 })
    }
    await refused(numbers(), '0x82')
  } finally {
    await cache.close()
    await server.kill()
  }
})
