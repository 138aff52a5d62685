import assert from 'node:assert/strict'
import nodeModule from 'node:module'
import { test, type TestContext } from 'node:test'

let modules = 0

/** `loadPackage` of a process in which the package is this; `undefined`: it has none. */
async function loaderWith(t: TestContext, found: object | undefined): Promise<() => unknown> {
  t.mock.method(nodeModule, 'createRequire', () => (name: string) => {
    assert.equal(name, 'redis')
    return found ?? assert.fail("Cannot find module 'redis'")
  })
  // Each process loads the package once.
  const fresh = `./client.js?${++modules}`
  const { loadPackage } = (await import(fresh)) as typeof import('./client.js')
  return loadPackage
}

test('a process without redis, or with an old one, is told what to install', async (t) => {
  for (const [found, what] of [
    [undefined, 'which is not installed'],
    [{ createClient() {} }, 'of version 5 or later'],
  ] as const) {
    const load = await loaderWith(t, found)
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
  assert.equal((await loaderWith(t, found))(), found)
})
