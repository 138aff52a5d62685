import { observeBy, type MetricsMeter } from '../metrics/open-telemetry.js'
import { prometheusText } from '../metrics/prometheus.js'
import { keptAlive } from '../support/environment.js'
import type { DrainReport } from './collector/grid-drain.js'
import { letCommandsCollect } from './commands.js'
import type { Engine } from './engine.js'
import type { LedgerReport } from './ledger/report.js'
import type { Health } from './operations/health.js'
import type { Recorder } from './recorder.js'
import type { CloseReport } from './writer/closing.js'

/** Rows on their way to the engine. */
export interface Incoming {
  /** Resolves when all so far have come to the engine. */
  forwarded(): Promise<void>
  /** Resolves when the last ones have; later ones come as they can. */
  end(): Promise<void>
}

/** The common methods, over an engine. */
export abstract class EngineRecorder<Row> implements Recorder {
  readonly #engine: Engine<Row>
  readonly #incoming: Incoming | undefined
  readonly #observed: (() => void)[] = []

  constructor(engine: Engine<Row>, incoming?: Incoming) {
    this.#engine = engine
    this.#incoming = incoming
    letCommandsCollect(this, {
      collectBy: (line) => {
        engine.connections.check()
        engine.collect(line)
        return engine.cache.scope
      },
      collectingTroubles: () =>
        engine.connections.run(() => engine.operations.collectingTroubles()),
      metrics: () => this.metrics(),
      close: () => this.close(),
    })
  }

  flush(): Promise<void> {
    return this.#run(async () => {
      await this.#incoming?.forwarded()
      await this.#engine.writer.flush()
    })
  }

  drain(options: { all?: boolean } = {}): Promise<DrainReport> {
    return this.#run(() => this.#engine.drain(options))
  }

  ledger(): Promise<LedgerReport> {
    return this.#run(() => this.#engine.report())
  }

  metrics(): Promise<string> {
    return this.#run(async () => prometheusText(await this.#engine.operations.readings()))
  }

  instrument(meter: MetricsMeter): void {
    const { connections, operations } = this.#engine
    connections.check()
    this.#observed.push(observeBy(meter, operations.metrics, () => operations.readings()))
  }

  health(): Health {
    return this.#engine.operations.health()
  }

  migrate(): Promise<void> {
    return this.#run(() => this.#engine.database.migrate())
  }

  close(): Promise<CloseReport> {
    const { connections, environment } = this.#engine
    return connections.close(() => keptAlive(environment, () => this.#close()))
  }

  async #close(): Promise<CloseReport> {
    for (const end of this.#observed) end()
    // Where nothing comes in between, the engine takes no more rows from this tick on.
    if (this.#incoming) await this.#incoming.end()
    return this.#engine.close()
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    const { connections, environment } = this.#engine
    return connections.run(() => keptAlive(environment, work))
  }
}
