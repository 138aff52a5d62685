import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshLoader } from '../../support/fresh-loader.fixture.js'

const CLIENT = new URL('./client.js', import.meta.url)

test('a process without redis, or with an old one, is told what to install', async (t) => {
  for (const [found, what] of [
    [undefined, 'which is not installed'],
    [{ createClient() {} }, 'of version 5 or later'],
  ] as const) {
    const load = await freshLoader(t, CLIENT, (name) => {
      assert.equal(name, 'redis')
      return found ?? assert.fail("Cannot find module 'redis'")
    })
    const refused = {
      code: 'ERR_WIDE_CACHE_REDIS',
      message:
        `wide-cache: a cache of redis:// needs the package "redis", ${what}; ` +
        'run: npm install redis',
    }
    for (let n = 0; n < 2; n++) assert.throws(load, refused)
  }
})

test('a process with a redis that is new enough loads it', async (t) => {
  const found = { createClient() {}, createSentinel() {} }
  const load = await freshLoader(t, CLIENT, () => found)
  assert.equal(load(), found)
})
