/**
 * Two counters for any number of processes.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export { GlobalCounter, type GlobalCounterOptions } from './global-counter.js'
export { OutcomeUnknownError } from './outcome.js'
export { ShardedCounter, type ShardedCounterOptions } from './sharded-counter.js'
