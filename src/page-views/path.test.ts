import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathOf } from './path.js'

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
