/**
 * Recounts layers and hours. Layers: the rows of `activities` against `activity_seconds`. Both
 * are written, and removed, by the same transactions, so that one statement finds them equal at any
 * time. Views that are kept as sums only have no rows and are left out, also in seconds that have
 * both.
 */
import type { Database, Queryable } from '../database/database.js'
import { table } from '../database/table.js'
import { HOUR_MS } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { recountHour } from './hour-recount.js'
import { enterRecount } from './recounted-hours.js'

const EQUAL = table('activity_certificates', ['name', 'day'], ['layers_equal', 'add'])
const UNEQUAL = table(
  'activity_certificates',
  ['name', 'day'],
  ['layers_unequal', 'add'],
  ['unequal_second', 'replace'],
)

/** Layers of a call. With one every 10 s, all stretches of 3 s of a day take 20 hours. */
const LAYERS_A_RUN = 4

/** Shorter layers are recounted together. */
const LEAST_SECONDS = 3

const SECONDS_AN_HOUR = 3600
/** Layers are from the last day: visits are kept as long by default. */
const SECONDS_A_DAY = 24 * SECONDS_AN_HOUR

/** From one layer to the next: a prime that never divides the number of layers of a day. */
const STRIDE = 7_919

/** Seconds of a layer that are recounted, at most. */
const MAX_SECONDS = 10

/** Collecting runs that are entered in SQL together. */
const RUNS_A_WRITE = 6

/** Time from one recount of an hour to the next: the hours of a day take 24 minutes. */
const HOUR_EVERY_MS = 60_000

/** A layer, or the beginning of it. */
export interface RecountedLayer {
  /** Its first second, since 1970. */
  readonly second: number
  /** Rows of `activities`. */
  readonly rows: number
  /** Views that `activity_seconds` has, without those that are kept as sums only. */
  readonly views: number
}

/** Recounts `length` seconds from each of `seconds` on, in one statement. */
export async function recount(
  queryable: Queryable,
  name: string,
  seconds: readonly number[],
  length: number,
): Promise<RecountedLayer[]> {
  const each =
    'SELECT ? AS first_second, (SELECT COUNT(*) FROM activities WHERE name = ? AND ' +
    'created_at >= ? AND created_at < ?) AS found, (SELECT COALESCE(SUM(views - sums_only), 0) ' +
    'FROM activity_seconds WHERE name = ? AND second >= ? AND second < ?) AS views'
  const { rows } = await queryable.query(
    seconds.map(() => each).join(' UNION ALL '),
    seconds.flatMap((second) => {
      const end = second + length
      return [second, name, second * 1000, end * 1000, name, second, end]
    }),
  )
  return rows.map((row) => ({
    second: Number(row['first_second']),
    rows: Number(row['found']),
    views: Number(row['views']),
  }))
}

/**
 * The recounts of one collector. They walk through the layers of the last day, from a random one on
 * and with neighbours far apart, so that each is recounted once in a while. They also walk through
 * all hours that have ended and whose rows are kept, the newest one first.
 */
export class Recounts {
  readonly #name: string
  readonly #layerSeconds: number
  readonly #layersADay: number
  readonly #logger: BurstLogger
  /** Layers found equal that SQL does not know of yet, by their days. */
  readonly #equal = new Map<number, number>()
  #next: number
  #runs = 0
  /** The hour that was recounted last. */
  #hour = Infinity
  /** The minute of the last recount of an hour. */
  #minute: number | undefined

  constructor(parts: {
    name: string
    layerSeconds: number
    random: () => number
    logger: BurstLogger
  }) {
    this.#name = parts.name
    this.#layerSeconds = Math.max(LEAST_SECONDS, parts.layerSeconds)
    this.#layersADay = Math.ceil(SECONDS_A_DAY / this.#layerSeconds)
    this.#next = Math.floor(parts.random() * this.#layersADay)
    this.#logger = parts.logger
  }

  /** Recounts some layers, and once a minute an hour, and enters what it finds. */
  async run(database: Database, now: number): Promise<void> {
    await this.#recountLayers(database, now)
    const minute = Math.floor(now / HOUR_EVERY_MS)
    if (minute === this.#minute) return
    this.#minute = minute
    await this.#recountHour(database, now)
  }

  /** A layer without rows and views is not counted. */
  async #recountLayers(database: Database, now: number): Promise<void> {
    const length = Math.min(this.#layerSeconds, MAX_SECONDS)
    const seconds = Array.from({ length: LAYERS_A_RUN }, () => this.#step(now))
    const unequal: RecountedLayer[] = []
    for (const layer of await recount(database, this.#name, seconds, length)) {
      if (layer.rows !== layer.views) unequal.push(layer)
      else if (layer.rows > 0) {
        const day = dayOf(layer)
        this.#equal.set(day, (this.#equal.get(day) ?? 0) + 1)
      }
    }
    for (const layer of unequal) await this.#reportUnequal(database, layer)
    this.#runs++
    if (this.#runs >= RUNS_A_WRITE || unequal.length > 0) await this.#writeEqual(database)
  }

  /** The first second of the next layer: of those that have ended, the newest at its place. */
  #step(now: number): number {
    const newest = Math.floor(now / 1000 / this.#layerSeconds) - 1
    const place = this.#next
    this.#next = (place + STRIDE) % this.#layersADay
    const ago = (newest - place) % this.#layersADay
    return (newest - ago) * this.#layerSeconds
  }

  async #writeEqual(database: Database): Promise<void> {
    await EQUAL.upsert(
      database,
      [...this.#equal].map(([day, layers]) => [this.#name, day, layers]),
    )
    this.#equal.clear()
    this.#runs = 0
  }

  /** Logs a difference that is new or has changed. Only one of several collectors logs it. */
  async #recountHour(database: Database, now: number): Promise<void> {
    const hour = await this.#nextHour(database, Math.floor(now / HOUR_MS))
    if (hour === undefined) return
    this.#hour = hour
    const found = await recountHour(database, this.#name, hour)
    if (found === undefined) return
    const isNew = await enterRecount(database, this.#name, hour, found)
    if (!isNew || found === '') return
    this.#logger.error(
      `wide-cache: rows and sums of "${this.#name}" differ: of the hour that began at ` +
        `${new Date(hour * HOUR_MS).toISOString()}, a recount found ${found}; find out ` +
        'what else has changed the tables, or report a bug; "wide-cache certificate" has the ' +
        'last result of each hour',
    )
  }

  /** The newest hour with visits that is older than the last one, or else than `end`. */
  async #nextHour(database: Database, end: number): Promise<number | undefined> {
    for (const before of [Math.min(this.#hour, end), end]) {
      const { rows } = await database.query(
        'SELECT MAX(second) AS second FROM activity_seconds WHERE name = ? AND second < ?',
        [this.#name, before * SECONDS_AN_HOUR],
      )
      const second = rows[0]?.['second'] ?? null
      if (second !== null) return Math.floor(Number(second) / SECONDS_AN_HOUR)
    }
    return undefined
  }

  /** Logs the first one of a day, however many collectors find some. */
  async #reportUnequal(database: Database, layer: RecountedLayer): Promise<void> {
    const day = dayOf(layer)
    const found = await database.transaction(async (tx) => {
      await UNEQUAL.upsert(tx, [[this.#name, day, 1, layer.second]])
      const { rows } = await tx.query(
        'SELECT layers_unequal FROM activity_certificates WHERE name = ? AND day = ?',
        [this.#name, day],
      )
      return Number(rows[0]?.['layers_unequal'])
    })
    if (found !== 1) return
    this.#logger.error(
      `wide-cache: rows and sums of "${this.#name}" differ: of the layer that began at ` +
        `${new Date(layer.second * 1000).toISOString()}, activities has ${layer.rows} visits and ` +
        `activity_seconds ${layer.views}; find out what else has changed the tables, or ` +
        'report a bug; more of this day are not logged, "wide-cache certificate" counts them',
    )
  }
}

function dayOf({ second }: RecountedLayer): number {
  return Math.floor(second / SECONDS_A_DAY)
}
