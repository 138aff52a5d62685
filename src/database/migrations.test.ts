import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statementsIn } from './migrations.js'

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
