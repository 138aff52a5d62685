import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { DatabaseError, type DatabaseErrorCategory } from '../database/database.js'

/**
 * Asserts that `promise` rejects with a DatabaseError of this category that shows no secret,
 * neither in its message nor anywhere else in it.
 */
export async function rejects(
  promise: Promise<unknown>,
  category: DatabaseErrorCategory,
  code?: string,
): Promise<DatabaseError> {
  const error: unknown = await promise.then(
    () => assert.fail('should have rejected'),
    (reason: unknown) => reason,
  )
  return assertCategory(error, category, code)
}

/** Asserts the same of an error that has been caught. */
export function assertCategory(
  error: unknown,
  category: DatabaseErrorCategory,
  code?: string,
): DatabaseError {
  assert.ok(error instanceof DatabaseError, inspect(error))
  assert.equal(error.category, category, error.message)
  if (code !== undefined) assert.equal(error.code, code)
  assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /s3cret|cache-password/)
  return error
}
