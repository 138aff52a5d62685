import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Received } from './handler.js'
import { hostOf } from './host.js'

const asking = (headers: Record<string, string>, hostname?: string) =>
  hostOf({ headers, hostname } as unknown as Received)

test('the host is that of the request, and a port only where the request says one', () => {
  assert.deepEqual(asking({ host: 'Site.example:8080' }), { name: 'site.example', port: '8080' })
  for (const host of ['site.example', 'site.example:', ' site.example, other.example:80']) {
    assert.deepEqual(asking({ host }), { name: 'site.example', port: undefined })
  }
  assert.deepEqual(asking({ host: '[2001:db8::1]:80' }), { name: '[2001:db8::1]', port: '80' })
  assert.deepEqual(asking({ ':authority': 'site.example' }), {
    name: 'site.example',
    port: undefined,
  })
  assert.equal(asking({}), undefined)
})

test('where a proxy is trusted, the host is the one that it forwards', () => {
  const forwarded = { host: 'upstream:3000', 'x-forwarded-host': 'site.example' }
  for (const name of ['site.example', 'Site.Example']) {
    assert.deepEqual(asking(forwarded, name), { name: 'site.example', port: undefined })
  }
  // Express does not trust whoever sent it.
  assert.deepEqual(asking(forwarded, 'upstream'), { name: 'upstream', port: '3000' })
  assert.deepEqual(asking(forwarded), { name: 'upstream', port: '3000' })
})

test('a forwarded host has its own port, not that on which the proxy asks', () => {
  for (const [forwarded, port] of [
    ['Site.example:8443, inner.example', '8443'],
    ['site.example', undefined],
  ] as const) {
    assert.deepEqual(
      asking({ host: 'site.example:3000', 'x-forwarded-host': forwarded }, 'site.example'),
      { name: 'site.example', port },
      forwarded,
    )
  }
})
