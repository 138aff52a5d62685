import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * The modules under test, of `src` or of a folder like it with a bug planted. Each folder has its
 * own error classes.
 */
export interface Protocol {
  readonly RowRecorder: typeof import('../../src/wide-cache/wide-cache.js').RowRecorder
  readonly rowEngine: typeof import('../../src/wide-cache/wide-cache.js').rowEngine
  readonly settingsOf: typeof import('../../src/wide-cache/options.js').settingsOf
  readonly Outbox: typeof import('../../src/wide-cache/writer/outbox.js').Outbox
  readonly Ledger: typeof import('../../src/wide-cache/ledger/ledger.js').Ledger
  readonly CellReader: typeof import('../../src/wide-cache/collector/cell-reader.js').CellReader
  readonly CacheError: typeof import('../../src/cache/cache.js').CacheError
  readonly DatabaseError: typeof import('../../src/database/database.js').DatabaseError
}

/** Loads the protocol from a folder that is, or is like, `src`. */
export async function loadProtocol(source: string): Promise<Protocol> {
  const load = (file: string) => import(pathToFileURL(join(source, file)).href)
  const { RowRecorder, rowEngine } = await load('wide-cache/wide-cache.js')
  const { settingsOf } = await load('wide-cache/options.js')
  const { Outbox } = await load('wide-cache/writer/outbox.js')
  const { Ledger } = await load('wide-cache/ledger/ledger.js')
  const { CellReader } = await load('wide-cache/collector/cell-reader.js')
  const { CacheError } = await load('cache/cache.js')
  const { DatabaseError } = await load('database/database.js')
  return {
    RowRecorder,
    rowEngine,
    settingsOf,
    Outbox,
    Ledger,
    CellReader,
    CacheError,
    DatabaseError,
  }
}
