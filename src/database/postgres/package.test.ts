import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshLoader } from '../../support/fresh-loader.fixture.js'

const PACKAGE = new URL('./package.js', import.meta.url)

/** Finds pg of this version; `undefined`: none. */
const pgOf = (version: string | undefined) => (name: string) => {
  assert.match(name, /^pg(?:\/package\.json)?$/)
  return version === undefined ? assert.fail("Cannot find module 'pg'") : { version }
}

test('a process without pg, or with an old one, is told what to install', async (t) => {
  for (const [version, what] of [
    [undefined, 'which is not installed'],
    ['8.11.9', 'of version 8.12 or later; 8.11.9 is installed'],
    ['7.99.0', 'of version 8.12 or later; 7.99.0 is installed'],
  ] as const) {
    const load = await freshLoader(t, PACKAGE, pgOf(version))
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
    const load = await freshLoader(t, PACKAGE, pgOf(version))
    assert.deepEqual(load(), { version })
  }
})
