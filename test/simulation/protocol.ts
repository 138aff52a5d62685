import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * The modules under test, of `src` or of a folder like it with a bug planted. Each folder has its
 * own classes.
 */
export type Protocol = typeof import('../../src/cache/cache.js') &
  typeof import('../../src/connections/connections.js') &
  typeof import('../../src/connections/counting.js') &
  typeof import('../../src/connections/namespace.js') &
  typeof import('../../src/database/database.js') &
  typeof import('../../src/support/logger.js') &
  typeof import('../../src/wide-cache/clock-watch.js') &
  typeof import('../../src/wide-cache/collector/cell-reader.js') &
  typeof import('../../src/wide-cache/collector/chores.js') &
  typeof import('../../src/wide-cache/collector/grid-drain.js') &
  typeof import('../../src/wide-cache/collector/same-cache.js') &
  typeof import('../../src/wide-cache/collector/settled-here.js') &
  typeof import('../../src/wide-cache/collector/young-layers.js') &
  typeof import('../../src/wide-cache/completeness.js') &
  typeof import('../../src/wide-cache/engines.js') &
  typeof import('../../src/wide-cache/ledger/grid-record.js') &
  typeof import('../../src/wide-cache/ledger/ledger.js') &
  typeof import('../../src/wide-cache/ledger/safe-clock.js') &
  typeof import('../../src/wide-cache/ledger/settle.js') &
  typeof import('../../src/wide-cache/ledger/writer-entry.js') &
  typeof import('../../src/wide-cache/options.js') &
  typeof import('../../src/wide-cache/published-watermark.js') &
  typeof import('../../src/wide-cache/wide-cache.js') &
  typeof import('../../src/wide-cache/writer/closing.js') &
  typeof import('../../src/wide-cache/writer/direct-commit.js') &
  typeof import('../../src/wide-cache/writer/numbering.js') &
  typeof import('../../src/wide-cache/writer/outbox.js') &
  typeof import('../../src/wide-cache/writer/placer.js') &
  typeof import('../../src/wide-cache/writer/writer.js')

const MODULES = [
  'cache/cache.js',
  'connections/connections.js',
  'connections/counting.js',
  'connections/namespace.js',
  'database/database.js',
  'support/logger.js',
  'wide-cache/clock-watch.js',
  'wide-cache/collector/cell-reader.js',
  'wide-cache/collector/chores.js',
  'wide-cache/collector/grid-drain.js',
  'wide-cache/collector/same-cache.js',
  'wide-cache/collector/settled-here.js',
  'wide-cache/collector/young-layers.js',
  'wide-cache/completeness.js',
  'wide-cache/engines.js',
  'wide-cache/ledger/grid-record.js',
  'wide-cache/ledger/ledger.js',
  'wide-cache/ledger/safe-clock.js',
  'wide-cache/ledger/settle.js',
  'wide-cache/ledger/writer-entry.js',
  'wide-cache/options.js',
  'wide-cache/published-watermark.js',
  'wide-cache/wide-cache.js',
  'wide-cache/writer/closing.js',
  'wide-cache/writer/direct-commit.js',
  'wide-cache/writer/numbering.js',
  'wide-cache/writer/outbox.js',
  'wide-cache/writer/placer.js',
  'wide-cache/writer/writer.js',
]

/** Loads the protocol from a folder that is, or is like, `src`. */
export async function loadProtocol(source: string): Promise<Protocol> {
  const modules = MODULES.map((file) => import(pathToFileURL(join(source, file)).href))
  return Object.assign({}, ...(await Promise.all(modules))) as Protocol
}
