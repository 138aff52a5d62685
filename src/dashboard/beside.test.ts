import assert from 'node:assert/strict'
import { test } from 'node:test'
import { besideText, seenText, shareSeen, WHY_MORE } from './assets/beside.js'

test('the share is of views that browsers report among those that the server sent', () => {
  assert.equal(seenText({ pageViews: 100, seen: 43 }), 'seen by browsers: 43 %')
  assert.equal(seenText({ pageViews: 43, served: 100 }), 'seen by browsers: 43 %')
  assert.equal(shareSeen({ pageViews: 10, seen: 0 }), 0)
  assert.equal(shareSeen({ pageViews: 10, seen: 25 }), 250)
})

test('nothing is said where it is not known, or of no page', () => {
  assert.equal(seenText({ pageViews: 100 }), '')
  assert.equal(seenText({ pageViews: 0, seen: 3 }), '')
  assert.equal(seenText({ pageViews: 3, served: 0 }), '')
})

test('bots stand beside the views of people, and are in no share', () => {
  const bots = { pageViews: 100, bots: 7 }
  assert.equal(besideText([bots, { pageViews: 3, bots: 2 }]), 'Beside them, 9 pages went to bots.')
  assert.equal(
    besideText([
      { ...bots, seen: 40 },
      { pageViews: 0, bots: 0, seen: 3 },
    ]),
    'Seen by browsers: 43 %. Beside them, 7 pages went to bots.',
  )
  assert.equal(
    besideText([
      { pageViews: 900, bots: 2, seen: null },
      { ...bots, seen: 43 },
    ]),
    'Seen by browsers: 43 %. Beside them, 9 pages went to bots.',
    'of the days on which browsers have reported',
  )
  assert.equal(
    besideText([{ pageViews: 43, bots: 1, served: 100 }]),
    'Seen by browsers: 43 %. Beside them, 1 page went to bots.',
  )
})

test('a share over 100 % is explained where it stands', () => {
  assert.equal(
    besideText([{ pageViews: 100, bots: 7, seen: 101 }]),
    `Seen by browsers: 101 %. ${WHY_MORE} Beside them, 7 pages went to bots.`,
  )
  assert.doesNotMatch(besideText([{ pageViews: 100, bots: 7, seen: 100 }]), /Over 100/)
})
