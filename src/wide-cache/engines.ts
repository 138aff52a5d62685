import { Engine } from './engine.js'
import type { EngineSettings } from './engine-settings.js'
import { slowLine } from './grid-options.js'
import { recordedNames } from './ledger/name-settings.js'

/**
 * The engines of an object, each for rows that are counted apart. Those besides the main one are
 * made when this process first has a row for them, or finds that another process has had one: until
 * then they cost nothing. All use the main engine's connections, cache and clock.
 */
export class Engines<Row> {
  readonly main: Engine<Row>
  readonly #settings: ReadonlyMap<string, EngineSettings<Row>>
  readonly #made = new Map<string, Engine<Row>>()
  #isToCollect = false
  #line: string | undefined
  #ended = false

  /** @param settings of those that there may be besides `main` */
  constructor(main: Engine<Row>, settings: readonly EngineSettings<Row>[] = []) {
    this.main = main
    this.#settings = new Map(settings.map((one) => [one.name, one]))
  }

  /** Those that this process has made, the main one first. */
  get made(): readonly Engine<Row>[] {
    return [this.main, ...this.#made.values()]
  }

  /** Returns the engine of a further name. `undefined`: none has been made before the end. */
  of(name: string): Engine<Row> | undefined {
    return this.#made.get(name) ?? (this.#ended ? undefined : this.#make(name))
  }

  /**
   * Makes those whose names SQL has, too: another process may have had rows for them. Nothing of
   * another process comes out of a private cache.
   *
   * @throws what SQL says
   */
  async discover(): Promise<readonly Engine<Row>[]> {
    const unmade = [...this.#settings.keys()].filter((name) => !this.#made.has(name))
    if (unmade.length > 0 && this.main.cache.scope === 'shared') {
      for (const name of await recordedNames(this.main.database, unmade)) this.of(name)
    }
    return this.made
  }

  /** Has all of them collect, and those that are made later, by a cron line or seldomer. */
  collect(line: string | undefined): void {
    this.main.collect(line)
    this.#isToCollect = true
    this.#line = line
    for (const [name, engine] of this.#made) engine.collect(this.#lineOf(name))
  }

  /** Makes no more of them. */
  end(): void {
    this.#ended = true
  }

  #lineOf(name: string): string | undefined {
    return slowLine(this.#settings.get(name)!, this.#line)
  }

  #make(name: string): Engine<Row> {
    const { connections, environment } = this.main
    const engine = new Engine(connections, this.#settings.get(name)!, environment, this.main)
    this.#made.set(name, engine)
    if (this.#isToCollect) engine.collect(this.#lineOf(name))
    return engine
  }
}
