import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { type Measured, Telemetry } from '../metrics/telemetry.js'
import { onlyKnown } from '../support/options.js'
import type { DrainReport } from './collector/drain-report.js'
import { letCommandsCollect } from './commands.js'
import type { Engine } from './engine.js'
import type { LedgerReport } from './ledger/report.js'
import type { Health } from './operations/health.js'
import type { Recorder } from './recorder.js'
import type { CloseReport } from './writer/closing.js'

/** Rows on their way to the engine. */
export interface Incoming {
  /** Whether there are any. */
  readonly isWaiting: boolean
  /** Resolves when all so far have come to the engine. */
  forwarded(): Promise<void>
  /** Resolves when the last ones have; later ones come as they can. */
  end(): Promise<void>
}

/** The common methods, over an engine. */
export abstract class EngineRecorder<Row> implements Recorder {
  readonly #engine: Engine<Row>
  readonly #incoming: Incoming | undefined
  readonly #telemetry: Telemetry
  readonly #endsWithProcess: (() => void) | undefined

  /** @param measured what has metrics beside the engine */
  constructor(engine: Engine<Row>, incoming?: Incoming, measured: readonly Measured[] = []) {
    this.#engine = engine
    this.#incoming = incoming
    this.#telemetry = new Telemetry([engine.operations, ...measured])
    this.#endsWithProcess = engine.environment.beforeEnd?.(() => {
      if (engine.writer.isHolding || incoming?.isWaiting) void this.close()
    })
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
    return this.#run(async () => {
      onlyKnown('drain', options, ['all'])
      return this.#engine.drain(options)
    })
  }

  ledger(): Promise<LedgerReport> {
    return this.#run(() => this.#engine.report())
  }

  metrics(): Promise<string> {
    return this.#run(() => this.#telemetry.text())
  }

  instrument(meter: MetricsMeter): void {
    this.#engine.connections.check()
    this.#telemetry.instrument(meter)
  }

  health(): Health {
    return this.#engine.operations.health()
  }

  migrate(): Promise<void> {
    return this.#run(() => this.#engine.database.migrate())
  }

  close(): Promise<CloseReport> {
    return this.#engine.connections.close(() => this.#close())
  }

  async #close(): Promise<CloseReport> {
    this.#endsWithProcess?.()
    this.#telemetry.end()
    // Where nothing comes in between, the engine takes no more rows from this tick on.
    if (this.#incoming) await this.#incoming.end()
    return this.#engine.close()
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    return this.#engine.connections.run(work)
  }
}
