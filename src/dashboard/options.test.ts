import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inventedHits } from './invented-source.fixture.js'
import { dashboardSettings } from './options.js'

test('without options nobody is authorized but developers, and there are no hits', () => {
  assert.deepEqual(dashboardSettings({}), {
    authorize: undefined,
    hits: [],
    mountPath: '',
    shared: false,
  })
  assert.deepEqual(dashboardSettings({ authorize: undefined, hits: undefined }), {
    authorize: undefined,
    hits: [],
    mountPath: '',
    shared: false,
  })
  assert.equal(dashboardSettings({ mountPath: '/admin' }).mountPath, '/admin')
  const hits = Array.from({ length: 20 }, (_, at) => inventedHits(`h${at}`))
  assert.deepEqual(dashboardSettings({ hits }).hits, hits)
  assert.throws(() => dashboardSettings({ mountPath: 'admin' }), /option "mountPath" is "admin"/)
})

const WRONG: [options: object, message: RegExp][] = [
  [{ authorize: true }, /option "authorize" is true; allowed: a function of the request/],
  [{ authorize: 'admin' }, /option "authorize" is "admin"/],
  [{ authorise: () => true }, /option "authorise" is unknown/],
  [{ shared: 1 }, /option "shared" is 1; allowed: false, or true without "authorize" and "hits"/],
  [{ shared: true, authorize: () => true }, /option "shared" is true; allowed: false, or true/],
  [{ hits: {} }, /option "hits" is an object; allowed: an array of at most 20 hits/],
  [{ hits: [{ name: 'threads' }] }, /option "hits" is an array/],
  [{ hits: Array.from({ length: 21 }, () => ({ name: 'x', top: () => [] })) }, /at most 20/],
]

WRONG.forEach(([options, message], at) => {
  const [name] = Object.keys(options)
  test(`a wrong "${name}" (${at + 1}) throws a TypeError that names it`, () => {
    assert.throws(
      () => dashboardSettings(options),
      (error) => error instanceof TypeError && message.test(error.message),
    )
  })
})
