import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measuredName, measureName, measureOf, unseenOf } from './measures.js'

test('a full name tells the name and the measure', () => {
  for (const name of ['a', 'my.site', 'x'.repeat(27)]) {
    for (const measure of ['served', 'seen', 'bots'] as const) {
      assert.equal(measuredName('name', name), name)
      const full = measureName(name, measure)
      assert.ok(full.length <= 32)
      assert.deepEqual(measureOf(full), { name, measure })
    }
  }
})

test('names that begin full names are shorter by their beginning', () => {
  assert.equal(measuredName('name', 'x'.repeat(22), 'hits.'), 'x'.repeat(22))
  assert.throws(
    () => measuredName('name', 'x'.repeat(23), 'hits.'),
    /option "name" is .*; allowed: 1 to 22 /,
  )
})

test('no name is the full name of another one', () => {
  for (const name of ['a.seen', 'a.bots', '.seen', 'x'.repeat(28), '', 'a b']) {
    assert.throws(() => measuredName('name', name), {
      name: 'RangeError',
      message: /option "name" is .*; allowed: /,
    })
  }
  assert.throws(() => measuredName('name', 7), TypeError)
})

test('what no browser has reported is known if both measures are, and never below 0', () => {
  for (const [counted, views, unseen] of [
    [5, { seen: 3 }, { unseen: 2 }],
    [3, { seen: 5 }, { unseen: 0 }],
    [3, { served: 5 }, { unseen: 2 }],
    [5, { served: 3 }, { unseen: 0 }],
    [null, { seen: 3 }, { unseen: null }],
    [3, { seen: null }, { unseen: null }],
    [3, {}, {}],
  ] as const) {
    assert.deepEqual(unseenOf(counted, views), unseen)
  }
})
