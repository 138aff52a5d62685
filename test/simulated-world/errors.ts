/**
 * The error classes of the sources under test. A copy of the sources with a bug planted has classes
 * of its own.
 */
export interface ErrorClasses {
  readonly CacheError: typeof import('../../src/cache/cache.js').CacheError
  readonly DatabaseError: typeof import('../../src/database/database.js').DatabaseError
}
