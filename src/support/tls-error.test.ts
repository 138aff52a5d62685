import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTlsError } from './tls-error.js'

test('only codes of certificates, and of servers without TLS, are of TLS', () => {
  for (const code of [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'CERT_HAS_EXPIRED',
  ]) {
    assert(isTlsError(code), code)
  }
  for (const code of [undefined, '', 'ECONNREFUSED', 'ETIMEDOUT', 'NO_CERT_']) {
    assert(!isTlsError(code), code)
  }
})
