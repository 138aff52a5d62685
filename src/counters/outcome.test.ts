import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closedError, cutOffError } from '../database/closed.js'
import { DatabaseError } from '../database/database.js'
import { outcomeOf, OutcomeUnknownError } from './outcome.js'

test('the error of an unknown outcome names the counter and has its cause', () => {
  const cause = new DatabaseError('TEST', 'unreachable', 'no answer')
  const error = new OutcomeUnknownError('visits', cause)
  assert.deepEqual(
    [error.name, error.code, error.cause],
    ['OutcomeUnknownError', 'COUNTER_OUTCOME_UNKNOWN', cause],
  )
  assert.match(
    error.message,
    /counter "visits": the increment may or may not have been counted: no answer/,
  )
})

test('calls that close() cut off may have been carried out, later calls were not', () => {
  assert(outcomeOf('visits', cutOffError()) instanceof OutcomeUnknownError)
  for (const known of [
    closedError(),
    new DatabaseError('TEST', 'usage', 'usage'),
    new DatabaseError('TEST', 'lock', 'lock'),
    new DatabaseError('ETIMEDOUT', 'unreachable', 'no connection', { unsent: true }),
  ]) {
    assert.equal(outcomeOf('visits', known), known)
  }
})
