import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { ALL } from '../../test/scale.js'
import { dayIn, dayText } from './calendar-days.js'
import { DAY_MS, HOUR_MS } from './clock.js'
import { calendarOf, timeZoneOption } from './time-zone.js'
import { ZoneCalendar } from './zone-calendar.js'

const NOW = Date.UTC(2026, 10, 29)
const LAST_DAY = 25_000
/** A visitor's hours of a day are bits of a number of SQL with 31 of them. */
const MOST_HOURS = 31
/** Zones whose clocks do what those of others do not, or did. */
const STRANGE = [
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Santiago',
  'Antarctica/Troll',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'Pacific/Kwajalein',
  'Africa/Casablanca',
  'Africa/Monrovia',
]
/** The only zone of today whose clocks are set by half an hour. */
const REFUSED = 'Australia/Lord_Howe'
const KNOWN = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== REFUSED)

const calendarIn = (zone: string) => calendarOf(timeZoneOption(zone, NOW))
const zones = ALL
  ? [...new Set([...STRANGE, ...KNOWN])]
  : [...STRANGE, ...fc.sample(fc.constantFrom(...KNOWN), 4)]

/** The date that clocks show, by another way through Node. */
function dateIn(zone: string, ms: number): string {
  const before = process.env['TZ']
  process.env['TZ'] = zone
  const date = new Date(ms)
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()]
  const minute = date.getMinutes()
  if (before === undefined) delete process.env['TZ']
  else process.env['TZ'] = before
  return `${dayText(Date.UTC(year, month, day) / DAY_MS)} ${minute}`
}

for (const zone of zones) {
  test(`${zone}: days follow each other, and each begins with an hour of its own`, () => {
    const calendar = calendarIn(zone)
    let [first, skipped] = [calendar.firstHour(0), 0]
    for (let day = 0; day < LAST_DAY; day++) {
      const next = calendar.firstHour(day + 1)
      const hours = next - first
      if (hours === 0) skipped++
      else assert(hours >= 17 && hours <= MOST_HOURS, `${dayText(day)} has ${hours} hours`)
      first = next
    }
    assert(skipped <= 1)
  })

  test(`${zone}: a moment is of the day that clocks show at the start of its hour`, () => {
    const calendar = calendarIn(zone)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: LAST_DAY * DAY_MS }), (ms) => {
        const hour = calendar.hourOf(ms)
        const start = calendar.startOfHour(hour)
        assert(start <= ms && ms < start + HOUR_MS)
        const day = calendar.dayOf(ms)
        const [date, minute] = dateIn(zone, start).split(' ')
        assert.equal(date, dayText(day))
        if (start >= NOW && start < NOW + 3_650 * DAY_MS) assert.equal(minute, '0')
        const { from, to } = calendar.hoursOf(day)
        assert(from <= hour && hour < to)
        assert.equal(calendar.placeOf(hour), hour - from)
        assert.equal(calendar.dayFrom(from), day)
        assert(calendar.firstHour(calendar.dayFrom(from + 1)) === to)
        const text = calendar.textOf(start)
        assert.equal(Date.parse(text), start)
        assert.equal(dayIn(text.slice(0, 10)), day)
      }),
    )
  })
}

test('a day has 23 or 25 hours where clocks are set, and none where a country skips it', () => {
  const lengthOf = (zone: string, day: string): number => {
    const { from, to } = calendarIn(zone).hoursOf(dayIn(day)!)
    return to - from
  }
  assert.deepEqual(
    [
      lengthOf('Europe/Berlin', '2026-03-29'),
      lengthOf('Europe/Berlin', '2026-10-25'),
      lengthOf('America/Santiago', '2026-09-06'),
      lengthOf('America/Santiago', '2026-04-04'),
      lengthOf('Antarctica/Troll', '2026-03-29'),
      lengthOf('Antarctica/Troll', '2026-10-25'),
      lengthOf('Pacific/Apia', '2011-12-30'),
    ],
    [23, 25, 23, 25, 22, 26, 0],
  )
})

test('a day begins at its own minute, and is written with the offset', () => {
  const startIn = (zone: string, day: string): string => {
    const calendar = calendarIn(zone)
    return calendar.textOf(calendar.startOfDay(dayIn(day)!))
  }
  assert.equal(startIn('Europe/Berlin', '2026-03-29'), '2026-03-29T00:00:00+01:00')
  assert.equal(startIn('Europe/Berlin', '2026-03-30'), '2026-03-30T00:00:00+02:00')
  assert.equal(startIn('Asia/Kolkata', '2026-03-29'), '2026-03-29T00:00:00+05:30')
  assert.equal(startIn('Asia/Kathmandu', '2026-03-29'), '2026-03-29T00:00:00+05:45')
  assert.equal(startIn('America/St_Johns', '2026-03-29'), '2026-03-29T00:00:00-02:30')
  // Clocks are set at midnight.
  assert.equal(startIn('America/Santiago', '2026-09-06'), '2026-09-06T01:00:00-03:00')
  // Days of 1985 began a quarter of an hour later by UTC than those of today.
  assert.equal(startIn('Asia/Kathmandu', '1985-05-17'), '1985-05-17T00:45:00+05:30')
  assert.equal(startIn('Etc/UTC', '2026-03-29'), '2026-03-29T00:00:00.000Z')
})

test('Intl, which is slow, is asked for the beginning of a day once', (t) => {
  let asked = 0
  const { prototype } = Intl.DateTimeFormat
  const { get } = Object.getOwnPropertyDescriptor(prototype, 'format') as {
    get: (this: Intl.DateTimeFormat) => Intl.DateTimeFormat['format']
  }
  const counting = t.mock.getter(prototype, 'format', function (this: Intl.DateTimeFormat) {
    asked++
    return get.call(this)
  })
  const calendar = new ZoneCalendar('Europe/Berlin', 0)
  const day = dayIn('2026-10-25')!
  const start = calendar.startOfDay(day)
  assert.equal(calendar.startOfDay(day + 1) - start, 25 * HOUR_MS)
  const first = asked
  assert(first > 0)
  for (let ms = start; ms < start + 25 * HOUR_MS; ms += 60_000) calendar.dayOf(ms)
  assert(asked - first < 100, `${asked - first} more`)
  counting.mock.restore()
})

test('hours begin at the minute that was recorded, whatever other objects of the zone have', () => {
  const name = 'Asia/Kolkata'
  const noon = Date.UTC(2026, 4, 17, 12)
  for (const [leadMinutes, minute] of [
    [30, 30],
    [0, 0],
    [15, 45],
    [30, 30],
  ] as const) {
    const calendar = calendarOf({ name, leadMinutes })
    assert.equal((calendar.startOfHour(calendar.hourOf(noon)) % HOUR_MS) / 60_000, minute)
  }
})

test('a zone is known by any of its names, and by none of another kind', () => {
  const nameOf = (zone: string) => timeZoneOption(zone, NOW).name
  assert.equal(nameOf('US/Pacific'), nameOf('America/Los_Angeles'))
  assert.equal(nameOf('europe/berlin'), 'Europe/Berlin')
  assert.equal(nameOf('GMT'), 'UTC')
  for (const zone of ['', 'Berlin', '+05:30', '-03', 'local', REFUSED]) {
    assert.throws(() => nameOf(zone), { name: 'RangeError', message: /^wide-cache: option "timeZ/ })
  }
  for (const zone of [null, 1, {}]) {
    assert.throws(() => timeZoneOption(zone, NOW), { name: 'TypeError' })
  }
})
