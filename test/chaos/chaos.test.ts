/**
 * Ten minutes (42 s where the file is run by name) of the chaos that `npm run chaos` does for an
 * hour: promises 1, 2, 6, 8 and 9 on real servers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fewOrMany } from '../scale.js'
import { runChaos } from './chaos.js'

/** Its faults are of every type. */
const SEED = 13903005
const SECONDS = fewOrMany(42, 600)

test(`${SECONDS} s of random faults: rows = recorded - reported, in every field`, async () => {
  const { checks, figures } = await runChaos({ seed: SEED, seconds: SECONDS })
  const broken = checks
    .filter(({ ok }) => !ok)
    .map(({ name, expected, found }) => `${name}: expected ${expected}, found ${found}`)
  assert.deepEqual(
    broken,
    [],
    `the same faults again: npm run chaos -- --minutes ${SECONDS / 60} --seed ${SEED}`,
  )
  assert((figures['rows recorded'] ?? 0) > 1_000, 'writers were at work')
  assert((figures['reports answered'] ?? 0) > 100, 'browsers reported to them')
})
