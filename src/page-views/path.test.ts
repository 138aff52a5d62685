import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { normalPath, pathOf, prefixed, targetBelow } from './path.js'

test('a path is a target without query, fragment and host', () => {
  assert.equal(pathOf('/'), '/')
  assert.equal(pathOf('/threads/1?page=2'), '/threads/1')
  assert.equal(pathOf('/a#b?c'), '/a')
  assert.equal(pathOf('/a?b#c'), '/a')
  assert.equal(pathOf('?x'), '/')
  assert.equal(pathOf('http://forum.example/threads/1?x'), '/threads/1')
  assert.equal(pathOf('HTTPS://user:secret@forum.example:8443'), '/')
  assert.equal(pathOf('http://forum.example?x'), '/')
  assert.equal(pathOf('//not-a-host/x'), '//not-a-host/x')
  assert.equal(pathOf('/redirect/http://other.example/'), '/redirect/http://other.example/')
  assert.equal(pathOf('/%00%0d%0a%F0%9F%98%80'), '/%00%0d%0a%F0%9F%98%80')
})

test('a removed path comes before a target again', () => {
  for (const [target, path] of [
    ['/', '/app/'],
    ['/a?b', '/app/a?b'],
    ['/app/a', '/app/app/a'],
    ['http://forum.example/a', '/app/a'],
    ['http://forum.example', '/app/'],
    ['?b', '/app/?b'],
  ] as const) {
    assert.equal(prefixed('/app', target), path)
  }
  for (const [target, below] of [
    ['/app', '/'],
    ['/app?b', '/?b'],
    ['/app/', '/'],
    ['/app/app/a?b', '/app/a?b'],
    ['/apple', undefined],
    ['/', undefined],
    ['/a/app', undefined],
  ] as const) {
    assert.equal(targetBelow('/app', target), below)
    assert.equal(targetBelow('', target), target)
  }
})

test('paths that RFC 3986 makes equal have one form', () => {
  for (const [path, ...equal] of [
    ['/caf%C3%A9', '/caf%c3%a9', '/%63af%C3%a9'],
    ['/~user/a-b_c.d', '/%7euser/%61%2Db%5Fc%2ed'],
    ['/a/c', '/a/b/../c', '/a/./c', '/../a/c', '/a/%2E/b/%2e%2E/c'],
    ['/a/', '/a/.', '/a/b/..'],
    ['/', '/.', '/..', '/a/..'],
    ['//a', '//./a'],
    // Not equal: a slash that is encoded is none, and the empty segment is one.
    ['/a%2Fb', '/a%2fb'],
    ['/.well-known/x.', '/.well-known/x.'],
    ['/a%zz%4', '/a%zz%4'],
  ] as const) {
    for (const text of [path, ...equal]) assert.equal(normalPath(text), path, text)
  }
})

test('law: the form of a path is the form that URLs have, where these change no more', () => {
  const segment = fc.constantFrom('a', 'B', '.', '..', '%2e', '%2E%2e', '%41', '%c3%a9', '', '%2f')
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), (segments) => {
      const path = `/${segments.join('/')}`
      const form = normalPath(path)
      assert.equal(normalPath(form), form)
      const ofUrl = new URL(`http://x${path}`).pathname
      assert.equal(form, normalPath(ofUrl))
    }),
  )
})
