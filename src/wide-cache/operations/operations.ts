import { type ErrorCounts, errorsOf } from '../../connections/counting.js'
import { CACHE_ERROR_METRICS, DATABASE_ERROR_METRICS } from '../../connections/error-metrics.js'
import type { PreparedDatabase } from '../../connections/prepared-database.js'
import { ageOf, type Known, LastKnown } from '../../metrics/last-known.js'
import { type Metric, type Reading, readingsOf } from '../../metrics/metric.js'
import { CachedRead, type CachedReadParts, type CachedFigures } from '../cached-read.js'
import type { ClockWatch } from '../clock-watch.js'
import type { GridSettings } from '../grid-options.js'
import type { GridRecord } from '../ledger/grid-record.js'
import type { WriterFigures } from '../writer/writer.js'
import { DAY_MS } from '../../support/clock.js'
import { adviceOf } from './advice.js'
import { CLOSED, type Health, lagTroubles, troublesOf, type Vitals } from './health.js'
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

/** Grids of one answer of `collecting()`. */
const MAX_COLLECTING = 5

/** Collectors of a grid, and their last run. */
export interface Collecting {
  /** Whether the grid is in a shared cache, and not in the memory of one process. */
  readonly isShared: boolean
  /** Period of the collectors; `null`: none ever came. */
  readonly periodSeconds: number | null
  /** Layers that have ended and are not drained. */
  readonly layersWaiting: number
  /** The last run that succeeded, with the rows that it committed; `null`: there was none. */
  readonly lastRun: {
    readonly secondsAgo: number
    readonly rows: number
    readonly ms: number
  } | null
}

/** Greatest age of figures that a collector is judged by. */
const STALE_MS = 60_000

interface OperationsSettings extends Pick<GridSettings, 'directSeconds'> {
  readonly name: string
  /** Metrics that its kind adds. */
  readonly metrics: AddedMetrics | undefined
}

interface OperationsParts extends Omit<CachedReadParts, 'name' | 'ttlSeconds'> {
  readonly settings: OperationsSettings
  readonly connections: { readonly isOpen: boolean }
  readonly cacheErrors: ErrorCounts
  readonly reading: PreparedDatabase
  readonly watch: ClockWatch
  readonly record: GridRecord
  readonly writer: { readonly figures: WriterFigures }
  readonly turns: DrainTurns
  /** The first one of a grid counts the errors of its cache and database, and its drains. */
  readonly measure: number
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
      name: parts.settings.name,
      key: STATE,
      ttlSeconds: STATE_TTL_SECONDS,
      query: () => this.#query(),
    })
    this.#state = new LastKnown(parts.environment.clock, () => this.#read(state))
  }

  /** All metrics, including those that its kind adds. */
  get metrics(): readonly Metric[] {
    return [...WIDE_CACHE_METRICS, ...Object.values(this.#parts.settings.metrics?.table ?? {})]
  }

  /** Reads all metrics; without those from SQL if SQL has never answered. Never rejects. */
  async readings(): Promise<Reading[]> {
    const { settings, environment, writer, turns, measure } = this.#parts
    const { name, metrics } = settings
    const known = await this.#state.get()
    const figuresAgeMs = known && ageOf(known, environment.clock.elapsed())
    const ofProcess = processReadings(name, {
      writer: writer.figures,
      ...(measure === 0 && { drained: turns.figures, ...this.#errors }),
      figuresAgeMs,
    })
    if (!known || figuresAgeMs === undefined) return ofProcess
    return [
      ...nameReadings(known.figures, this.#own(known.figures), figuresAgeMs),
      ...(metrics ? readingsOf(metrics.table, { name }, known.figures.added) : []),
      ...ofProcess,
    ]
  }

  /**
   * Returns the health of this process, from what it knows already. Starts to read newer figures
   * for the next time.
   */
  health(): Health {
    if (!this.#parts.connections.isOpen) return CLOSED
    return { live: true, ready: true, reasons: troublesOf(this.#vitals()) }
  }

  /** Returns what is wrong and what to do, in one sentence, as {@link health} knows it. */
  advice(): string | undefined {
    return adviceOf(this.#vitals())
  }

  /** Returns the reasons why a process that only collects is not ready. Never rejects. */
  async collectingTroubles(): Promise<string[]> {
    const lagMs = this.#lagMs(await this.#state.get())
    if (lagMs === undefined) return ['how far collecting lags is not known: SQL does not answer']
    return lagTroubles({ lagMs, directSeconds: this.#parts.settings.directSeconds })
  }

  /**
   * Returns how the grids are collected: the first five, those in shared caches first. Leaves out
   * grids that no process has used for a day.
   *
   * @throws Error if SQL has never answered
   */
  async collecting(): Promise<readonly Collecting[]> {
    const known = await this.#state.get()
    if (!known) throw new Error('SQL has not answered yet')
    const { readAt, grids } = known.figures
    const ageMs = ageOf(known, this.#parts.environment.clock.elapsed())
    return grids
      .filter(({ usedAt }) => readAt - usedAt < DAY_MS)
      .slice(0, MAX_COLLECTING)
      .map(({ privateTo, periodSeconds, layersWaiting, run }) => ({
        isShared: privateTo === null,
        periodSeconds,
        layersWaiting,
        lastRun: run && {
          secondsAgo: Math.max(0, readAt + ageMs - run.at) / 1_000,
          rows: run.rows,
          ms: run.ms,
        },
      }))
  }

  #vitals(): Vitals {
    const { settings, writer, watch, turns } = this.#parts
    void this.#state.get()
    return {
      writer: writer.figures,
      ...this.#errors,
      clockTrouble: watch.trouble,
      drainsFailingMs: turns.failingMs,
      lagMs: this.#lagMs(this.#state.known),
      directSeconds: settings.directSeconds,
    }
  }

  get #errors() {
    const { cacheErrors, reading } = this.#parts
    return { cacheErrors, databaseErrors: errorsOf(reading.database) }
  }

  #lagMs(known: Known<StateWithAdded> | undefined): number | undefined {
    const ageMs = known && ageOf(known, this.#parts.environment.clock.elapsed())
    if (!known || ageMs === undefined || ageMs > STALE_MS) return undefined
    return lagMsOf(this.#own(known.figures), ageMs)
  }

  /** Returns the grids that collectors with this process's cache drain. */
  #own({ grids }: StateWithAdded): readonly GridFigures[] {
    const { record } = this.#parts
    return grids.filter(({ privateTo }) => privateTo === record.privateTo)
  }

  async #query(): Promise<CachedFigures<StateWithAdded | null>> {
    const { settings, reading, watch } = this.#parts
    const { name, metrics } = settings
    const now = await watch.now(reading)
    const state = await readNameState(reading, name, now)
    if (!state) return { readAt: now, figures: null }
    const added = (await metrics?.read(reading, name)) ?? {}
    return { readAt: now, figures: { ...state, added } }
  }

  async #read(
    state: CachedRead<StateWithAdded | null>,
  ): Promise<Known<StateWithAdded> | undefined> {
    const { settings, environment, watch } = this.#parts
    const figures = await state.read()
    if (figures?.name !== settings.name) return undefined
    // Throws, and so is not taken, if somebody else has put something into the cache.
    nameReadings(figures, this.#own(figures), 0)
    if (!Number.isFinite(figures.readAt) || !isObject(figures.added)) return undefined
    const now = watch.estimate ?? figures.readAt
    return { figures, at: environment.clock.elapsed() - Math.max(0, now - figures.readAt) }
  }
}
