import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, Dialect } from '../../database/database.js'
import { checkVersion } from './database.js'

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
