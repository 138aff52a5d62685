import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unpacked } from './assets/packed.js'
import { packed } from './sending.js'

/** A row has `null` for a field that it lacks. */
function withoutNulls(value: unknown): unknown {
  const noNull = (_key: string, one: unknown): unknown => (one === null ? undefined : one)
  return JSON.parse(JSON.stringify(value, noNull)) as unknown
}

test('a page unpacks what was packed, whichever rows have a field', () => {
  for (const value of [
    { rows: [{ a: 1 }, { b: 2 }, { a: 3, b: 4, c: [{ d: 5 }, { d: 6, e: 7 }] }] },
    { rows: [{ a: 1, b: null }, { a: 2 }], none: [], texts: ['a', 'b'], nothing: null },
    [{ a: { b: [{ c: 1 }, { d: 2 }] } }],
  ]) {
    const sent = JSON.stringify(packed(value))
    assert.deepEqual(withoutNulls(JSON.parse(sent, unpacked)), withoutNulls(value))
  }
})
