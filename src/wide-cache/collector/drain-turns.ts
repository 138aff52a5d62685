import type { Environment } from '../../support/environment.js'
import type { DrainReport } from './drain-report.js'
import type { DrainOptions, NameDrain } from './name-drain.js'

/** Figures of the drains of one process so far. */
export interface DrainFigures {
  /** Drains that have succeeded. */
  readonly drains: number
  /** Drains that have failed. */
  readonly failures: number
  /** Rows that they have committed. */
  readonly rows: number
  /** Milliseconds they took. */
  readonly ms: number
  /** Milliseconds of them for which the event loop was busy, with any work. */
  readonly busyMs: number
}

/** Runs the drains of a name in one process one after the other, and counts them. */
export class DrainTurns {
  readonly #environment: Environment
  readonly #nameDrain: Pick<NameDrain, 'drain'>
  #figures: DrainFigures = { drains: 0, failures: 0, rows: 0, ms: 0, busyMs: 0 }
  #failingSince: number | undefined
  #runsFailingSince: number | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(environment: Environment, nameDrain: Pick<NameDrain, 'drain'>) {
    this.#environment = environment
    this.#nameDrain = nameDrain
  }

  get figures(): DrainFigures {
    return this.#figures
  }

  /** Milliseconds for which collecting has failed; `undefined`: the last time it has not. */
  get failingMs(): number | undefined {
    const since = this.#runsFailingSince ?? this.#failingSince
    return since === undefined ? undefined : this.#environment.clock.elapsed() - since
  }

  /** Notes the end of a whole collecting run, with what comes before and after its drain. */
  ended(failed: boolean): void {
    this.#runsFailingSince = failed
      ? (this.#runsFailingSince ?? this.#environment.clock.elapsed())
      : undefined
  }

  /** Notes that another process collects: a drain that failed here is no longer a problem. */
  standBy(): void {
    this.#failingSince = undefined
  }

  /** Drains after the drains before this one. */
  drain(options: DrainOptions): Promise<DrainReport> {
    const mine = this.#last.then(() => this.#counted(options))
    this.#last = mine.catch(() => undefined)
    return mine
  }

  async #counted(options: DrainOptions): Promise<DrainReport> {
    const { clock } = this.#environment
    const busy = (): number => this.#environment.busyMs?.() ?? 0
    const [began, busyBefore] = [clock.elapsed(), busy()]
    try {
      const report = await this.#nameDrain.drain(options)
      const { drains, rows, ms, busyMs } = this.#figures
      this.#figures = {
        ...this.#figures,
        drains: drains + 1,
        rows: rows + report.committed,
        ms: ms + clock.elapsed() - began,
        busyMs: busyMs + busy() - busyBefore,
      }
      this.#failingSince = undefined
      return report
    } catch (error) {
      this.#figures = { ...this.#figures, failures: this.#figures.failures + 1 }
      this.#failingSince ??= clock.elapsed()
      throw error
    }
  }
}
