import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareOfAll, shareSeen } from './assets/seen-share.js'

test('the share is of views that browsers report among those that the server sent', () => {
  assert.equal(shareSeen({ pageViews: 100, seen: 43 }), 0.43)
  assert.equal(shareSeen({ pageViews: 43, served: 100 }), 0.43)
  assert.equal(shareSeen({ pageViews: 10, seen: 0 }), 0)
  assert.equal(shareSeen({ pageViews: 10, seen: 25 }), 2.5)
})

test('there is no share where it is not known, or of no page', () => {
  assert.equal(shareSeen({ pageViews: 100 }), undefined)
  assert.equal(shareSeen({ pageViews: 100, seen: null }), undefined)
  assert.equal(shareSeen({ pageViews: 0, seen: 3 }), undefined)
  assert.equal(shareSeen({ pageViews: 3, served: 0 }), undefined)
  assert.equal(shareOfAll([{ pageViews: 0, seen: 0 }, { pageViews: 9 }]), undefined)
})

test('the share of a range is that of the days on which browsers have reported', () => {
  const days = [
    { pageViews: 900, seen: null },
    { pageViews: 100, seen: 40 },
    { pageViews: 0, seen: 3 },
  ]
  assert.equal(shareOfAll(days), 0.43)
  assert.equal(shareOfAll([{ pageViews: 43, served: 100 }]), 0.43)
})
