import type { MetricsMeter } from '../metrics/open-telemetry.js'
import { joined } from '../metrics/joined.js'
import { type Measured, Telemetry } from '../metrics/telemetry.js'
import { onlyKnown } from '../support/options.js'
import type { DrainReport } from './collector/drain-report.js'
import { added } from '../support/added.js'
import { letCommandsCollect } from './commands.js'
import type { Engine } from './engine.js'
import { EnginesBeside } from './engines-beside.js'
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

/** The common methods, over an engine and those beside it. */
export abstract class EngineRecorder<Row> implements Recorder {
  readonly #engine: Engine<Row>
  readonly #beside: EnginesBeside<Row>
  readonly #incoming: Incoming | undefined
  readonly #telemetry: Telemetry
  readonly #endsWithProcess: (() => void) | undefined

  /** @param measured further objects with metrics */
  constructor(
    engine: Engine<Row>,
    incoming?: Incoming,
    measured: readonly Measured[] = [],
    beside = new EnginesBeside(engine, []),
  ) {
    this.#engine = engine
    this.#beside = beside
    this.#incoming = incoming
    const operations: Measured = {
      metrics: engine.operations.metrics,
      readings: async () =>
        joined(await Promise.all(this.#engines.map((one) => one.operations.readings()))),
    }
    this.#telemetry = new Telemetry([operations, ...measured])
    this.#endsWithProcess = engine.environment.beforeEnd?.(() => {
      const isHolding = this.#engines.some(({ writer }) => writer.isHolding)
      if (isHolding || incoming?.isWaiting) void this.close()
    })
    letCommandsCollect(this, {
      collectBy: (line) => {
        engine.connections.check()
        engine.collect(line)
        beside.collect(line)
        return engine.cache.scope
      },
      collectingTroubles: () =>
        engine.connections.run(async () => {
          const all = this.#engines.map((one) => one.operations.collectingTroubles())
          return [...new Set((await Promise.all(all)).flat())]
        }),
      metrics: () => this.metrics(),
      close: () => this.close(),
    })
  }

  flush(): Promise<void> {
    return this.#run(async () => {
      await this.#incoming?.forwarded()
      await Promise.all(this.#engines.map(({ writer }) => writer.flush()))
    })
  }

  drain(options: { all?: boolean } = {}): Promise<DrainReport> {
    return this.#run(async () => {
      onlyKnown('drain', options, ['all'])
      const engines = [this.#engine, ...(await this.#beside.found())]
      const reports = await Promise.all(engines.map((engine) => engine.drain(options)))
      return { ...added(reports), watermark: reports[0]!.watermark }
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
    const { live, ready } = this.#engine.operations.health()
    const reasons = this.#engines.flatMap((one) => one.operations.health().reasons)
    return { live, ready, reasons: [...new Set(reasons)] }
  }

  migrate(): Promise<void> {
    return this.#run(async () => {
      await Promise.all(this.#engines.map(({ database }) => database.migrate()))
    })
  }

  close(): Promise<CloseReport> {
    return this.#engine.connections.close(() => this.#close())
  }

  get #engines(): readonly Engine<Row>[] {
    return [this.#engine, ...this.#beside.made]
  }

  async #close(): Promise<CloseReport> {
    this.#endsWithProcess?.()
    this.#telemetry.end()
    // Without `incoming`, the engine takes no more rows from this tick on.
    if (this.#incoming) await this.#incoming.end()
    this.#beside.end()
    return this.#engine.close(this.#beside.made)
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    return this.#engine.connections.run(work)
  }
}
