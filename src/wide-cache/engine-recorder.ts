import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { joined } from '../metrics/metric.js'
import { type Measured, Telemetry } from '../metrics/telemetry.js'
import { onlyKnown } from '../support/options.js'
import type { DrainReport } from './collector/drain-report.js'
import { letCommandsCollect } from './commands.js'
import type { Engines } from './engines.js'
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

/** The common methods, over the engines of an object. */
export abstract class EngineRecorder<Row> implements Recorder {
  readonly #engines: Engines<Row>
  readonly #incoming: Incoming | undefined
  readonly #telemetry: Telemetry
  readonly #endsWithProcess: (() => void) | undefined

  constructor(engines: Engines<Row>, incoming?: Incoming) {
    const engine = engines.main
    this.#engines = engines
    this.#incoming = incoming
    const operations: Measured = {
      metrics: engine.operations.metrics,
      readings: async () =>
        joined(await Promise.all(engines.made.map((one) => one.operations.readings()))),
    }
    this.#telemetry = new Telemetry([operations])
    this.#endsWithProcess = engine.environment.beforeEnd?.(() => {
      const isHolding = engines.made.some(({ writer }) => writer.isHolding)
      if (isHolding || incoming?.isWaiting) void this.close()
    })
    letCommandsCollect(this, {
      collectBy: (line) => {
        engine.connections.check()
        engines.collect(line)
        return engine.cache.scope
      },
      collectingTroubles: () =>
        engine.connections.run(async () => {
          const all = engines.made.map((one) => one.operations.collectingTroubles())
          return [...new Set((await Promise.all(all)).flat())]
        }),
      metrics: () => this.metrics(),
      close: () => this.close(),
    })
  }

  flush(): Promise<void> {
    return this.#run(async () => {
      await this.#incoming?.forwarded()
      await Promise.all(this.#engines.made.map(({ writer }) => writer.flush()))
    })
  }

  drain(options: { all?: boolean } = {}): Promise<DrainReport> {
    return this.#run(async () => {
      onlyKnown('drain', options, ['all'])
      return this.#engines.drain(options, () => this.#incoming?.isWaiting ?? false)
    })
  }

  ledger(): Promise<LedgerReport> {
    return this.#run(() => this.#engines.main.report())
  }

  metrics(): Promise<string> {
    return this.#run(() => this.#telemetry.text())
  }

  instrument(meter: MetricsMeter): void {
    this.#engines.main.connections.check()
    this.#telemetry.instrument(meter)
  }

  health(): Health {
    const { live, ready } = this.#engines.main.operations.health()
    const reasons = this.#engines.made.flatMap((one) => one.operations.health().reasons)
    return { live, ready, reasons: [...new Set(reasons)] }
  }

  migrate(): Promise<void> {
    return this.#run(() => this.#engines.migrate())
  }

  close(): Promise<CloseReport> {
    return this.#engines.main.connections.close(() => this.#close())
  }

  async #close(): Promise<CloseReport> {
    this.#endsWithProcess?.()
    this.#telemetry.end()
    // Without `incoming`, the engine takes no more rows from this tick on.
    if (this.#incoming) await this.#incoming.end()
    return this.#engines.close()
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    return this.#engines.main.connections.run(work)
  }
}
