/**
 * Conformance suites for adapters of other packages.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export { type CacheCapabilities, type CacheUnderTest, testCache } from './cache.js'
export { type DatabaseCapabilities, type DatabaseUnderTest, testDatabase } from './database.js'
export type { RegisterTest } from './runner.js'
