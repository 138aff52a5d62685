import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UTC } from '../support/calendar.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { list } from './figures.js'
import { InventedSource } from './invented-source.fixture.js'
import type { ListRange, Range } from './source.js'
import { spanOf } from './span.js'

const TODAY = Date.UTC(2026, 10, 30)

/** Each hour has one view of a page. Of days whose hours are not kept it only knows whole ones. */
class Hourly extends InventedSource {
  readonly now: number

  constructor(now: number) {
    super(() => now)
    this.now = now
  }

  async firstDay() {
    return '2024-01-01'
  }

  override async top(_: string, range: ListRange) {
    const { from, to } = this.#known(range)
    const figures = [{ value: '/', pageViews: (to - from) / HOUR_MS }]
    return { figures, asOf: new Date(this.now).toISOString(), stale: false }
  }

  #known({ from, to }: Range): Range {
    const isKept = Math.floor(to / DAY_MS) * DAY_MS >= this.now - this.historyDays * DAY_MS
    return isKept ? { from, to } : { from, to: Math.ceil(to / DAY_MS) * DAY_MS }
  }
}

test('a list compares periods of one length, in each hour of a day', async () => {
  let compared = 0
  for (let hour = 0; hour < 24; hour++) {
    const now = TODAY + hour * HOUR_MS + 1
    const source = new Hourly(now)
    for (const range of ['today', 'yesterday', '7d', '30d', 'month']) {
      for (const against of ['before', 'year']) {
        const when = { now, calendar: UTC, firstDay: () => source.firstDay() }
        const span = await spanOf(new URLSearchParams({ range, against }), when)
        const asked = { dimension: 'page', n: 10, now, calendar: UTC }
        const { top } = await list(source, span, asked, (_, work) => work())
        const [{ over, before } = {}] = top!.figures
        assert.equal(before, over, `${range} against ${against} at ${hour}:00`)
        if (over !== undefined) compared++
      }
    }
  }
  // Of today nothing is over in its first hour, nor is it compared with a day of last year.
  assert.equal(compared, 24 * 9 - 1)
})
