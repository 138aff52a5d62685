/** The entry `wide-cache/testing`: what adapters of other packages are tested with. */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export { type CacheCapabilities, type CacheUnderTest, testCache } from './cache.js'
export { type DatabaseCapabilities, type DatabaseUnderTest, testDatabase } from './database.js'
export type { RegisterTest } from './runner.js'
