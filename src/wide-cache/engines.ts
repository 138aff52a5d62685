import type { Connections } from '../connections/connections.js'
import { added } from '../support/added.js'
import { timeLimit } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import { within } from '../support/within.js'
import { Collector } from './collector/collector.js'
import type { DrainReport } from './collector/drain-report.js'
import type { DrainOptions } from './collector/name-drain.js'
import { Engine } from './engine.js'
import { type EngineParts, engineParts } from './engine-parts.js'
import type { EngineSettings } from './engine-settings.js'
import { collectPeriodSeconds, defaultLine } from './grid-options.js'
import { recordedAmong } from './ledger/name-settings.js'
import type { CloseReport } from './writer/closing.js'

/** Longest time that a process waits at its end until its private grid is given up. */
const RETIRE_MS = 500

/** Interval at which a collecting process looks which measures others have begun. */
const DISCOVER_EVERY_MS = 60_000

/**
 * The engines of an object, each for rows that are counted apart: its measures. Their frames go
 * through one grid, which one collector drains. The first one has the name of the grid. The others
 * are made when this process first has a row for them, or finds that another process has had one:
 * until then they cost nothing.
 */
export class Engines<Row> {
  /** The one that the figures are of. */
  readonly main: Engine<Row>
  readonly #settings: readonly EngineSettings<Row>[]
  readonly #parts: EngineParts<Row>
  readonly #made: Engine<Row>[] = []
  /** Those made, by their measures. */
  readonly #engines = new Map<number, Engine<Row>>()
  readonly #letEnd: (() => void) | undefined
  #collector: Collector | undefined
  #discoverAt = 0
  #ended = false

  /**
   * @param settings of all that there may be, by their measures: in all processes the same
   * @param main the measure that the figures are of
   * @throws TypeError, RangeError naming the option `cache` or `database`
   */
  constructor(
    connections: Connections<CloseReport>,
    settings: readonly EngineSettings<Row>[],
    environment: Environment,
    main = 0,
  ) {
    this.#settings = settings
    this.#parts = engineParts(connections, settings, environment, this.#made)
    const first = this.#make(0)
    this.main = main === 0 ? first : this.#make(main)
    const { collect, staysToCollect } = settings[0]!
    if (collect !== false) this.collect(collect)
    this.#letEnd = staysToCollect ? environment.keepAlive?.() : undefined
  }

  /** Those that this process has made, the first one first. */
  get made(): readonly Engine<Row>[] {
    return this.#made
  }

  /** Returns the engine of a measure. `undefined`: none has been made before the end. */
  of(measure: number): Engine<Row> | undefined {
    return this.#engines.get(measure) ?? (this.#ended ? undefined : this.#make(measure))
  }

  /**
   * Starts to collect by a cron line, or by the default of the option `collect`, unless it does so
   * already.
   *
   * @throws TypeError, RangeError if `line` is no cron line
   */
  collect(line = defaultLine(this.#parts.settings.layerSeconds)): void {
    this.#collector ??= new Collector(
      { ...this.#parts, chores: this.#chores },
      line,
      collectPeriodSeconds(line),
    )
  }

  /** Makes the tables, and enters what it records. */
  migrate(): Promise<void> {
    return this.#parts.database.migrate()
  }

  /**
   * Drains, after the drains that are under way. With `all`, figures of a private grid then include
   * what this process recorded before.
   *
   * @param isWaiting tells whether rows are on their way to the engines
   */
  async drain(options: DrainOptions, isWaiting: () => boolean): Promise<DrainReport> {
    const { turns, cache, watch, database } = this.#parts
    if (!options.all || cache.scope === 'shared') return turns.drain(options)
    const before = await watch.now(database)
    const report = await turns.drain(options)
    await this.#complete(before, isWaiting)
    return report
  }

  /**
   * Stops collecting, brings all rows to SQL within `closeTimeoutMs`, waits for what is under way,
   * and closes the connections. The connections must take no more work by then. Returns what became
   * of the rows.
   */
  async close(): Promise<CloseReport> {
    const { settings, connections, clock } = this.#parts
    const limit = timeLimit(clock, settings.closeTimeoutMs)
    this.#ended = true
    this.#letEnd?.()
    this.#collector?.stop()
    const reports = await Promise.all(this.#made.map(({ writer }) => writer.close()))
    await Promise.race([Promise.all([this.#collector?.end(), connections.idle()]), limit.over])
    await Promise.all(this.#made.map(({ writer }) => writer.end(limit.over)))
    await this.#retire()
    await connections.releaseBy(limit.over)
    limit.cancel()
    return added(reports)
  }

  get #chores() {
    const made = this.#made
    return {
      isDue: (rows: number) => made.some(({ chores }) => chores.isDue(rows)),
      run: async (now: number, rows: number) => {
        await this.#discover()
        // One that fails does not stop the others.
        const outcomes = await Promise.allSettled(made.map(({ chores }) => chores.run(now, rows)))
        for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
      },
    }
  }

  /**
   * Makes those whose names SQL has, too: another process may have had rows for them. Nothing of
   * another process comes out of a private cache.
   */
  async #discover(): Promise<void> {
    const { cache, clock, database } = this.#parts
    const unmade = new Map(this.#settings.map(({ name }, measure) => [name, measure]))
    for (const { name } of this.#made) unmade.delete(name)
    if (unmade.size === 0 || cache.scope === 'private') return
    if (clock.elapsed() < this.#discoverAt) return
    this.#discoverAt = clock.elapsed() + DISCOVER_EVERY_MS
    for (const name of await recordedAmong(database, [...unmade.keys()])) {
      this.of(unmade.get(name)!)
    }
  }

  #make(measure: number): Engine<Row> {
    const engine = new Engine(this.#parts, this.#settings[measure]!, measure)
    this.#engines.set(measure, engine)
    this.#made.push(engine)
    this.#parts.database.prepareAgain()
    return engine
  }

  /**
   * Records that SQL has all rows of a private grid that were recorded before `moment`, as far as
   * this process holds none of them: nobody else places rows there.
   */
  async #complete(moment: number, isWaiting: () => boolean): Promise<void> {
    const { record, database } = this.#parts
    await Promise.all(this.#made.map(({ writer }) => writer.confirm()))
    if (!record.grid || isWaiting()) return
    const held = this.#made.map(({ writer }) => writer.heldFrom)
    await record.completeTo(database, record.grid, Math.min(moment, ...held))
    for (const engine of this.#made) engine.forgetFigures()
  }

  /**
   * Gives up a grid that ends with its process, so that figures need not wait for it. If SQL does
   * not answer, it ages out. Never rejects.
   */
  async #retire(): Promise<void> {
    const { cache, record, database, clock, joining } = this.#parts
    if (joining) await within(RETIRE_MS, joining.end(), clock)
    if (cache.scope !== 'private' || !record.grid) return
    await within(RETIRE_MS, record.retire(database), clock)
  }
}
