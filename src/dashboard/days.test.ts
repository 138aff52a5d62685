import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const DAYS = fileURLToPath(new URL('./assets/days.js', import.meta.url))

/** Returns what `days.js` makes of one view per hour, in a process whose clock is in this zone. */
function daysIn(zone: string, now: string, count: number): { starts: string[]; views: number[] } {
  const program = `
    const { dayStarts, viewsByDay } = await import(${JSON.stringify(DAYS)})
    const now = Date.parse(${JSON.stringify(now)})
    const starts = dayStarts(now, ${count})
    const from = Math.floor(starts[0] / 3600000) * 3600000
    const hours = Array.from({ length: Math.ceil((now - from) / 3600000) }, () => 1)
    const texts = starts.map((start) => new Date(start).toISOString())
    console.log(JSON.stringify({ starts: texts, views: viewsByDay(hours, from, starts) }))`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, TZ: zone, NODE_OPTIONS: '' },
    }),
  ) as { starts: string[]; views: number[] }
}

test("days begin at the viewer's midnight, also where one has 25 hours", () => {
  assert.deepEqual(daysIn('Europe/Berlin', '2026-10-26T11:30:00Z', 3), {
    starts: ['2026-10-23T22:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
    views: [24, 25, 13],
  })
})

test('an hour counts for the day in which it starts', () => {
  const { starts, views } = daysIn('Asia/Kolkata', '2026-11-22T10:40:00Z', 2)
  assert.deepEqual(starts, ['2026-11-20T18:30:00.000Z', '2026-11-21T18:30:00.000Z'])
  assert.deepEqual(views, [24, 16])
})
