import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needsOf, SHARED } from './needs.js'
import * as sharedServers from './servers/shared.js'

test('a test file needs what it, its suites and the programs that it starts import', () => {
  const needs = (...files: string[]) => {
    const { programs, shared } = needsOf(files)
    return [[...programs].sort(), [...shared].sort()]
  }
  assert.deepEqual(needs('src/wide-cache/grid-keys.test.ts'), [[], []])
  assert.deepEqual(needs('src/database/mysql/rights.test.ts'), [['mariadb'], ['mariadb']])
  assert.deepEqual(needs('src/database/mysql/load-data.test.ts'), [['mariadb'], []])
  assert.deepEqual(needs('src/cache/memcached/link.test.ts'), [['memcached'], []])
  assert.deepEqual(needs('src/dashboard/page.test.ts'), [['chromium', 'chromiumShell'], []])
  const both = ['mariadb', 'memcached']
  assert.deepEqual(needs('test/forum/forum.test.ts', 'test/orders/migrating.test.ts'), [both, both])
})

test('each server that test files share is known', () => {
  const functions = Object.entries(sharedServers).filter(([, value]) => value instanceof Function)
  assert.deepEqual(functions.map(([name]) => name).sort(), Object.keys(SHARED).sort())
})
