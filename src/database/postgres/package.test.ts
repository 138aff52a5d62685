import assert from 'node:assert/strict'
import nodeModule from 'node:module'
import { test, type TestContext } from 'node:test'

let modules = 0

/** `loadPackage` of a process that has this version of pg; `undefined`: none. */
async function loaderWith(t: TestContext, version: string | undefined): Promise<() => unknown> {
  const missing = Object.assign(new Error("Cannot find module 'pg'"), { code: 'MODULE_NOT_FOUND' })
  t.mock.method(nodeModule, 'createRequire', () => (name: string) => {
    if (version === undefined) throw missing
    assert.match(name, /^pg(?:\/package\.json)?$/)
    return { version }
  })
  // Each process loads the package once.
  const fresh = `./package.js?${++modules}`
  const { loadPackage } = (await import(fresh)) as typeof import('./package.js')
  return loadPackage
}

test('a process without pg, or with an old one, is told what to install', async (t) => {
  for (const [version, what] of [
    [undefined, 'which is not installed'],
    ['8.11.9', 'of version 8.12 or later; 8.11.9 is installed'],
    ['7.99.0', 'of version 8.12 or later; 7.99.0 is installed'],
  ] as const) {
    const load = await loaderWith(t, version)
    const refused = {
      code: 'ERR_WIDE_CACHE_POSTGRES',
      message:
        `wide-cache: a database of postgres:// needs the package "pg", ${what}; ` +
        'run: npm install pg',
    }
    for (let n = 0; n < 2; n++) assert.throws(load, refused)
  }
})

test('a process with a pg that is new enough loads it', async (t) => {
  for (const version of ['8.12.0', '8.20.1', '9.0.0', '10.1.0']) {
    const load = await loaderWith(t, version)
    assert.deepEqual(load(), { version })
  }
})
