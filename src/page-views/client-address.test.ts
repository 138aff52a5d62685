import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { clientAddress } from './client-address.js'

test('one address has one form, however it is written', () => {
  for (const [address, ...texts] of [
    ['203.0.113.7', '203.0.113.7:50001', '203.0.113.7:', '::ffff:203.0.113.7', '::FFFF:cb00:7107'],
    ['203.0.113.7', '[::ffff:203.0.113.7]:443', '0:0:0:0:0:ffff:203.0.113.7'],
    ['2001:db8::1', '2001:DB8:0:0::1', '[2001:db8::1]', '[2001:0db8::0001]:50001'],
    ['fe80::1', 'fe80::1%eth0', '[fe80::1%25eth0]:80'],
  ] as const) {
    for (const text of [address, ...texts]) assert.equal(clientAddress(text), address, text)
  }
})

test('what is no address is none', () => {
  for (const text of ['', 'unknown', '_hidden', '203.0.113', '203.0.113.256', '203.000.113.007']) {
    assert.equal(clientAddress(text), undefined, text)
  }
  for (const text of [
    '2001:db8::1:50001:x',
    '[203.0.113.7',
    '::ffff:300.1.1.1',
    'a'.repeat(9_000),
  ]) {
    assert.equal(clientAddress(text), undefined, text)
  }
})

test('law: the form of an address is an address, and its own form', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const address = clientAddress(text)
      assert(address !== undefined, text)
      assert.equal(clientAddress(address), address)
      assert.equal(clientAddress(`${address.includes(':') ? `[${address}]` : address}:80`), address)
    }),
  )
})
