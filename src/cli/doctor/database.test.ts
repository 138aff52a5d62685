import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, Dialect } from '../../database/database.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { checkClock, checkVersion } from './database.js'

for (const [dialect, version, severity, text] of [
  ['mysql', '8.0.36', 'ok', 'MySQL 8.0.36'],
  ['mysql', '5.7.44', 'warning', 'MySQL 5.7.44 is older'],
  ['mysql', '10.6.0-MariaDB', 'ok', 'MariaDB 10.6.0'],
  ['mysql', '5.5.5-10.11.6-MariaDB', 'ok', 'MariaDB 10.11.6'],
  ['mysql', '10.5.26-MariaDB', 'warning', 'MariaDB 10.5.26 is older'],
  ['mysql', '11.0.2-MariaDB', 'ok', 'MariaDB 11.0.2'],
  ['sqlite', '3.38.0', 'ok', 'SQLite 3.38.0'],
  ['sqlite', '3.37.2', 'warning', 'SQLite 3.37.2 is older'],
] as const satisfies readonly [Dialect, string, string, string][]) {
  test(`${dialect} ${version} gives: ${severity}`, async () => {
    const query = async () => ({ rows: [{ version }], affectedRows: 0 })
    const [finding, ...others] = await checkVersion({ dialect, query } as unknown as Database)
    assert.equal(finding!.severity, severity)
    assert(finding!.cause.startsWith(text), finding!.cause)
    assert.deepEqual(others, [])
  })
}

test('an answer of the database that took long is no clock that differs', async () => {
  for (const [ahead, cause] of [
    [0, /^the clock of the database is within a second of this machine's$/],
    [30_000, /^the clock of the database is within a second of this machine's$/],
    [34_000, /is 4\.0 s ahead of this machine's/],
    [-4_000, /is 4\.0 s behind this machine's/],
  ] as const) {
    const clock = new ManualClock(1_000_000)
    const now = async () => {
      await clock.advance(30_000)
      return 1_000_000 + ahead
    }
    const [finding] = await checkClock({ now } as unknown as Database, clock)
    assert.match(finding!.cause, cause)
  }
})
