import type { ErrorCounts } from '../../connections/counting.js'
import { CACHE_ERROR_METRICS, DATABASE_ERROR_METRICS } from '../../connections/error-metrics.js'
import { ageOf, type Known, LastKnown } from '../../metrics/last-known.js'
import { type Metric, type Reading, readingsOf } from '../../metrics/metric.js'
import type { Queryable } from '../../database/database.js'
import type { Clock } from '../../support/clock.js'
import { CachedRead, type CachedReadParts } from '../cached-read.js'
import type { ClockWatch } from '../clock-watch.js'
import type { WriterFigures } from '../writer/writer.js'
import { CLOSED, type Health, lagTroubles, troublesOf } from './health.js'
import { lagMsOf, NAME_METRICS, nameReadings, PROCESS_METRICS, processReadings } from './metrics.js'
import {
  type GridFigures,
  readNameState,
  type StateWithAdded,
  type AddedMetrics,
} from './name-state.js'
import type { DrainTurns } from '../collector/drain-turns.js'

/** Key of the state of the name, and seconds for which one reading of it serves all processes. */
const STATE = 'state'
const STATE_TTL_SECONDS = 10

/** Greatest age of figures that a collector is judged by. */
const STALE_MS = 60_000

interface OperationsParts extends Omit<CachedReadParts, 'ttlSeconds'> {
  readonly name: string
  readonly clock: Clock
  readonly watch: ClockWatch
  /** Id of the process whose own grids count; `null`: the grids in shared caches count. */
  readonly privateTo: string | null
  readonly directSeconds: number
  readonly cacheErrors: ErrorCounts
  readonly databaseErrors: ErrorCounts
  readonly writer: { readonly figures: WriterFigures }
  readonly turns: DrainTurns
  readonly database: Queryable
  /** Metrics that its kind adds. */
  readonly addedMetrics: AddedMetrics | undefined
  /** Whether it has not been closed. */
  readonly isOpen: () => boolean
}

/** All metrics but those that a kind adds. */
export const WIDE_CACHE_METRICS: readonly Metric[] = [
  ...Object.values(NAME_METRICS),
  ...Object.values(PROCESS_METRICS),
  ...CACHE_ERROR_METRICS,
  ...DATABASE_ERROR_METRICS,
]

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Reads the metrics and the health of a wide cache, for its operators. */
export class Operations {
  readonly #parts: OperationsParts
  readonly #state: LastKnown<StateWithAdded>

  constructor(parts: OperationsParts) {
    this.#parts = parts
    const state = new CachedRead({
      ...parts,
      key: STATE,
      ttlSeconds: STATE_TTL_SECONDS,
      query: () => this.#query(),
    })
    this.#state = new LastKnown(parts.clock, () => this.#read(state))
  }

  /** All metrics, including those that its kind adds. */
  get metrics(): readonly Metric[] {
    return [...WIDE_CACHE_METRICS, ...Object.values(this.#parts.addedMetrics?.table ?? {})]
  }

  /** Reads all metrics; without those from SQL if SQL has never answered. Never rejects. */
  async readings(): Promise<Reading[]> {
    const { name, clock, writer, turns, cacheErrors, databaseErrors, addedMetrics } = this.#parts
    const known = await this.#state.get()
    const figuresAgeMs = known && ageOf(known, clock.elapsed())
    const ofProcess = processReadings(name, {
      writer: writer.figures,
      drained: turns.figures,
      cacheErrors,
      databaseErrors,
      figuresAgeMs,
    })
    if (!known || figuresAgeMs === undefined) return ofProcess
    return [
      ...nameReadings(known.figures, this.#own(known.figures), figuresAgeMs),
      ...(addedMetrics ? readingsOf(addedMetrics.table, { name }, known.figures.added) : []),
      ...ofProcess,
    ]
  }

  /**
   * Returns the health of this process, from what it knows already. Starts to read newer figures
   * for the next time.
   */
  health(): Health {
    const { writer, cacheErrors, databaseErrors, turns, directSeconds, isOpen } = this.#parts
    if (!isOpen()) return CLOSED
    void this.#state.get()
    const reasons = troublesOf({
      writer: writer.figures,
      cacheErrors,
      databaseErrors,
      drainsFailingMs: turns.failingMs,
      lagMs: this.#lagMs(this.#state.known),
      directSeconds,
    })
    return { live: true, ready: true, reasons }
  }

  /** Returns the reasons why a process that only collects is not ready. Never rejects. */
  async collectingTroubles(): Promise<string[]> {
    const lagMs = this.#lagMs(await this.#state.get())
    if (lagMs === undefined) return ['how far collecting lags is not known: SQL does not answer']
    return lagTroubles({ lagMs, directSeconds: this.#parts.directSeconds })
  }

  #lagMs(known: Known<StateWithAdded> | undefined): number | undefined {
    const ageMs = known && ageOf(known, this.#parts.clock.elapsed())
    if (!known || ageMs === undefined || ageMs > STALE_MS) return undefined
    return lagMsOf(this.#own(known.figures), ageMs)
  }

  /** Returns the grids that collectors with this process's cache drain. */
  #own({ grids }: StateWithAdded): readonly GridFigures[] {
    return grids.filter(({ privateTo }) => privateTo === this.#parts.privateTo)
  }

  async #query(): Promise<StateWithAdded | null> {
    const { name, database, watch, addedMetrics } = this.#parts
    const now = await watch.now(database)
    const state = await readNameState(database, name, now)
    if (!state) return null
    return { ...state, added: (await addedMetrics?.read(database, name)) ?? {} }
  }

  async #read(
    state: CachedRead<StateWithAdded | null>,
  ): Promise<Known<StateWithAdded> | undefined> {
    const { name, clock, watch } = this.#parts
    const figures = await state.read()
    if (figures?.name !== name) return undefined
    // Throws, and so is not taken, if somebody else has put something into the cache.
    nameReadings(figures, this.#own(figures), 0)
    if (!Number.isFinite(figures.readAt) || !isObject(figures.added)) return undefined
    const now = watch.estimate ?? figures.readAt
    return { figures, at: clock.elapsed() - Math.max(0, now - figures.readAt) }
  }
}
