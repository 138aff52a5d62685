import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BarChart, type LineChart, svg, wrapped } from './chart.js'

const LONG = 'a name that is much too long for the place that labels have here'

const bars: BarChart = {
  type: 'bars',
  title: 'Costs <of> a request & more',
  x: { name: 'µs' },
  groups: [
    {
      bars: [
        { name: 'one INSERT per visit', value: 69, low: 59, high: 85 },
        { name: 'wide-cache', value: 14, low: 3, high: 24 },
        { name: LONG, value: 40 },
      ],
    },
  ],
}

const lines: LineChart = {
  type: 'lines',
  title: 'Losses',
  x: { name: 'width', log: true },
  y: { name: '%' },
  lines: Array.from({ length: 9 }, (_, at) => ({
    name: `get and set at some rate, number ${at}`,
    points: [
      { x: 1, y: 50 + at, low: 40, high: 60 },
      { x: 64, y: at },
    ],
  })),
}

/** The texts of a picture with the heights at which they stand. */
function textsOf(picture: string): { text: string; y: number }[] {
  return [...picture.matchAll(/<text x="[\d.]+" y="([\d.]+)"[^>]*>([^<]*)</g)].map(
    ([, y, text]) => ({ text: text!, y: Number(y) }),
  )
}

test('bars lie under each other, the shortest first, and that of wide-cache stands out', () => {
  const picture = svg(bars)
  const places = ['wide-cache', 'a name that is', 'one INSERT'].map(
    (name) => textsOf(picture).find(({ text }) => text.startsWith(name))!.y,
  )
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  )
  const fills = [...picture.matchAll(/<rect [^>]*fill="(#\w+)"/g)].map(([, fill]) => fill)
  assert(fills[0] !== fills[1] && fills[1] === fills[2])
  const widths = [...picture.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, wide]) =>
    Number(wide),
  )
  assert(widths[0]! > 0 && widths[0]! < widths[1]! && widths[1]! < widths[2]!)
})

test('a picture is transparent, follows the colour scheme, and escapes what it says', () => {
  const picture = svg(bars)
  assert.match(picture, /prefers-color-scheme:dark/)
  assert.doesNotMatch(picture, /background|fill="#fff/)
  assert(picture.includes('Costs &lt;of&gt; a request &amp; more'))
  assert.equal(svg(bars), picture, 'drawn twice, it is the same')
})

test('a legend has the rows that it needs, above all that is drawn', () => {
  const picture = svg(lines)
  const legend = textsOf(picture).filter(({ text }) => text.startsWith('get and set'))
  assert.equal(legend.length, 9)
  assert(new Set(legend.map(({ y }) => y)).size >= 3, 'several rows')
  const highest = Math.min(
    ...[...picture.matchAll(/<circle [^>]*cy="([\d.]+)"/g)].map(([, y]) => Number(y)),
  )
  assert(Math.max(...legend.map(({ y }) => y)) < highest - 4)
})

test('a long label is wrapped between words', () => {
  assert.deepEqual(wrapped('one two three', 60), ['one two', 'three'])
  assert.deepEqual(wrapped('incomprehensibilities', 10), ['incomprehensibilities'])
  const said = textsOf(svg(bars)).map(({ text }) => text)
  assert(!said.includes(LONG) && said.includes('the place that labels have here'), said.join('; '))
})
