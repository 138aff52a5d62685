/**
 * Numbers 1, 2, 3, … for any number of processes.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import '../support/package-file.js'

export { Sequence, type SequenceOptions } from './sequence.js'
export { SequenceError, type SequenceErrorCode } from './sequence-error.js'
