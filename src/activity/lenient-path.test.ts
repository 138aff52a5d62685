import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { isReadyMade } from './dimensions/ready-made.js'
import { lenientPath } from './lenient-path.js'

const pathOf = (url: string): string => lenientPath({ url } as IncomingMessage)

test('letters and slashes at the end make no other page', () => {
  for (const target of ['/about', '/About', '/about/', '/ABOUT//?of=Us', '/%61bout']) {
    assert.equal(pathOf(target), '/about', target)
  }
  assert.equal(pathOf('/Caf%c3%89/'), '/caf%C3%89')
  assert.equal(pathOf('/'), '/')
  assert.equal(pathOf('//'), '/')
  assert(isReadyMade(lenientPath))
})
