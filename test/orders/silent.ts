import type { Logger } from '../../src/support/logger.js'

/** A log that nobody reads. */
export const SILENT: Logger = { info() {}, warn() {}, error() {} }
