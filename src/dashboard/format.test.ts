/** Texts of the page, in any language: each is compared with what Intl makes of the number. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  apart,
  at,
  between,
  counted,
  direction,
  nameOfCode,
  number,
  percent,
  setZone,
  shareText,
  short,
  signed,
  span,
  yearOf,
  zoneName,
} from './assets/format.js'

const latin = { numberingSystem: 'latn' } as const
const plain = (text: string): string => text.replaceAll(/[\u2066-\u2069]/g, '')

test('a share is nothing only if there is none, and a change is one from 2 % on', () => {
  const percents = new Intl.NumberFormat(undefined, { ...latin, style: 'percent' })
  assert.equal(shareText(0), percents.format(0))
  for (const share of [1e-9, 0.001, 0.0049]) {
    assert.equal(shareText(share), `<${percents.format(0.01)}`)
  }
  for (const share of [0.005, 0.01, 0.126, 1]) {
    assert.equal(shareText(share), percents.format(share))
    assert.notEqual(shareText(share), percents.format(0))
    assert.equal(percent(share), percents.format(share))
  }
  for (const [by, name] of [
    [0.02, 'up'],
    [0.0199, 'flat'],
    [0, 'flat'],
    [-0.0199, 'flat'],
    [-0.02, 'down'],
    [-1, 'down'],
    [Infinity, 'up'],
  ] as const) {
    assert.equal(direction(by), name, String(by))
  }
  const changes = { ...latin, style: 'percent', signDisplay: 'exceptZero' } as const
  assert.equal(signed(0.5), new Intl.NumberFormat(undefined, changes).format(0.5))
})

test('an age is short, and a span is in the largest unit that it is whole in', () => {
  for (const [seconds, text] of [
    [0.4, '0 s'],
    [0.6, '1 s'],
    [99, '99 s'],
    [100, '2 min'],
    [5_999, '100 min'],
    [6_000, '2 h'],
    [172_799, '48 h'],
    [172_800, '2 d'],
    [864_000, '10 d'],
  ] as const) {
    assert.equal(short(seconds), text)
  }
  for (const [seconds, text] of [
    [1, '1 second'],
    [59, '59 seconds'],
    [60, '1 minute'],
    [90, '90 seconds'],
    [600, '10 minutes'],
    [3_600, '1 hour'],
    [5_400, '90 minutes'],
    [7_200, '2 hours'],
  ] as const) {
    assert.equal(span(seconds), text)
  }
  assert.deepEqual([counted(0, 'page view'), counted(1, 'site')], ['0 page views', '1 site'])
  assert.equal(counted(1_234, 'site'), `${number(1_234)} sites`)
})

test('times are in the zone that was set last, and a range has its last day', () => {
  const noon = Date.UTC(2026, 0, 1, 2)
  const texts = ['UTC', 'America/New_York', 'UTC', 'Asia/Tokyo'].map((zone) => {
    setZone(zone)
    assert.equal(zoneName(), zone)
    const format = { ...latin, timeZone: zone, day: 'numeric', month: 'short' } as const
    assert.equal(plain(at('day', noon)), new Intl.DateTimeFormat(undefined, format).format(noon))
    const year = { ...latin, timeZone: zone, year: 'numeric' } as const
    assert.equal(yearOf(noon), new Intl.DateTimeFormat(undefined, year).format(noon))
    return at('time', noon)
  })
  assert.equal(new Set(texts).size, 3)
  setZone('UTC')
  const [first, next] = [Date.UTC(2026, 4, 1), Date.UTC(2026, 4, 2)]
  assert.equal(between('days', first, next), at('days', first))
  assert.equal(between('days', first, first), at('days', first))
  assert.notEqual(between('days', first, next + 1), at('days', first))
})

test('only what runs from right to left is kept apart, and a code without a name is itself', () => {
  assert.equal(apart('17 May'), '17 May')
  assert.equal(apart('17 مايو'), '\u206817 مايو\u2069')
  assert.equal(apart('12\u200f'), '\u206812\u200f\u2069')
  const languages = new Intl.DisplayNames(process.env['LANG'] ? undefined! : 'en', {
    type: 'region',
  })
  assert.equal(typeof languages.of('DE'), 'string')
  assert.notEqual(nameOfCode('region', 'DE'), 'DE')
  assert.notEqual(nameOfCode('language', 'de'), nameOfCode('region', 'DE'))
  for (const code of ['x1', 'QQ', '', '<b>']) assert.equal(nameOfCode('region', code), code)
})
