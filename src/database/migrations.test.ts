import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from './database.js'
import { type Migratable, migrate, migrationsFolder, statementsIn } from './migrations.js'

test('a statement ends with a semicolon at the end of a line, and nowhere else', () => {
  const text = `-- First; and only once.
CREATE TABLE t (a TEXT); -- Why; see there.
  -- Some rows:
INSERT INTO t VALUES ('a;b'),
  ('c; d');

-- The end.
`
  assert.deepEqual(statementsIn(text), [
    'CREATE TABLE t (a TEXT)',
    "INSERT INTO t VALUES ('a;b'),\n  ('c; d')",
  ])
})

test('while others migrate a process tries again, until it has waited for too long', async (t) => {
  const busy = new DatabaseError('LOCKED', 'lock', 'others have the lock')
  let elapsed = 0
  t.mock.method(performance, 'now', () => elapsed)
  let tries = 0
  const waiting = (succeeds: number, ms: number): Migratable => ({
    query: () => Promise.reject(new DatabaseError('NO_TABLE', 'usage', 'there is no table')),
    async exclusively() {
      elapsed += ms
      if (++tries < succeeds) throw busy
      return undefined as never
    },
  })
  const folder = migrationsFolder('sqlite')
  await migrate(waiting(3, 15_000), folder, ['sequence'])
  assert.equal(tries, 3)
  tries = 0
  const late = migrate(waiting(Infinity, 15_001), folder, ['sequence'])
  await assert.rejects(late, { code: 'DATABASE_MIGRATING', category: 'lock' })
  assert.equal(tries, 2)
})
