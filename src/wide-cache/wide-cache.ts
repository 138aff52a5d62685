import { Connections } from '../connections/connections.js'
import { jsonOf } from '../support/exact-json.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import type { Engine } from './engine.js'
import { EngineRecorder } from './engine-recorder.js'
import { Engines } from './engines.js'
import type { EngineSettings } from './engine-settings.js'
import { type Settings, settingsOf, type WideCacheOptions } from './options.js'
import type { CloseReport } from './writer/closing.js'

/** Key of the figures that `read()` returns. */
const FIGURES = 'figures'

/** Makes the only engine of a WideCache. */
export function rowEngines<Row>(
  settings: EngineSettings<Row>,
  environment: Environment,
): Engines<Row> {
  const connections = new Connections<CloseReport>('WideCache', settings.name, environment)
  return new Engines(connections, [settings], environment)
}

/** Records rows of any kind: {@link WideCache}, over an engine that tests may own. */
export class RowRecorder<Row, Figures = unknown> extends EngineRecorder<Row> {
  readonly #engine: Engine<Row>
  readonly #read: Settings<Row, Figures>['read']

  constructor(engines: Engines<Row>, read: Settings<Row, Figures>['read']) {
    super(engines)
    this.#engine = engines.main
    this.#read = read
  }

  /**
   * Records a row. Never throws, never waits, does no I/O on the caller's tick. A row that cannot
   * be taken (too large for a frame, not encodable, no room left) is dropped and counted in
   * `ledger().dropped`.
   */
  append(row: Row): void {
    this.#engine.writer.append(row)
  }

  /**
   * Returns the figures of the option `read`, at most `readTtlSeconds` old. While SQL is away,
   * returns the last good figures.
   *
   * @throws TypeError, RangeError naming the property that JSON would change, such as a Date
   */
  read(): Promise<Figures> {
    const read = this.#read
    if (!read) {
      return Promise.reject(
        new TypeError('wide-cache: read() needs the option "read", a function (database, context)'),
      )
    }
    // All callers get what comes out of the cache, also the one who has asked SQL.
    const readAsJson: typeof read = async (database, context) =>
      JSON.parse(jsonOf('figures', await read(database, context))) as Figures
    return this.#engine.connections.run(() => this.#engine.read(FIGURES, readAsJson))
  }
}

/**
 * Writes rows of any kind to SQL by a `commit` of the caller, in bulk and each exactly once.
 * `append` costs a request microseconds. The rows travel in frames through the grid in the cache,
 * and collectors bring the frames to SQL. If the collectors or the cache fail, the writer itself
 * does so. See docs/contributing/architecture.md for the protocol.
 *
 * @example
 * ```js
 * import { sqlite, WideCache } from 'wide-cache'
 *
 * const database = sqlite(':memory:')
 * await database.query('CREATE TABLE clicks (button VARCHAR(20))')
 * const clicks = new WideCache({
 *   name: 'clicks',
 *   database,
 *   async commit(rows, tx) {
 *     for (const row of rows) await tx.query('INSERT INTO clicks VALUES (?)', [row.button])
 *   },
 * })
 * clicks.append({ button: 'buy' })
 * await clicks.close()
 * await database.close()
 * ```
 */
export class WideCache<Row, Figures = unknown> extends RowRecorder<Row, Figures> {
  /**
   * @throws TypeError, RangeError
   */
  constructor(options: WideCacheOptions<Row, Figures>) {
    const settings = settingsOf(options)
    super(rowEngines(settings, systemEnvironment), settings.read)
  }
}
