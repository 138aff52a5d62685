import type { Queryable, SqlValue } from '../../database/database.js'
import {
  bytes,
  bytesOrNull,
  execute,
  select,
  selectOne,
  type Sql,
  sql,
} from '../../database/sql.js'
import { table } from '../../database/table.js'
import { idText } from '../../support/id-text.js'
import { type Geometry, Grid } from '../grid.js'
import { Layers } from '../layers.js'

/**
 * Another collector has moved the watermark since this drain read it, or the database has another
 * namespace by now, whose cells this drain has not read.
 */
export class WatermarkMoved extends Error {
  override readonly name = 'WatermarkMoved'

  constructor() {
    super('another collector has moved the watermark')
  }
}

/**
 * A move of the watermark, done only if it still has the value that was read. It falls only if that
 * value is far ahead of the database's clock.
 */
export interface Raise {
  readonly grid: Grid
  /** The namespace of the database whose cells were read. */
  readonly namespace: Buffer
  readonly from: number
  readonly to: number
  /** The newest mark that the cache shows. */
  readonly mark: Buffer | undefined
  /** Whether frames were found, so that the grid is known to be in use. */
  readonly used: boolean
  /** Milliseconds since the last rise from which on this one is a leap; see {@link LEAP_MS}. */
  readonly leapAfterMs: number
}

/**
 * Time for which figures end where the watermark was before it leapt. SQL may have taken no writes
 * until then, and within this time living writers commit what they hold: each asks SQL every 10 s.
 */
export const LEAP_MS = 15_000

/** State of a grid in SQL at one moment. */
export interface GridState {
  readonly grid: Grid
  /** The newest drained layer. */
  readonly watermark: number
  /**
   * All rows recorded before this moment are in SQL, though their layers may not be drained; in
   * milliseconds since the Unix epoch.
   */
  readonly completeTo: number
  /** The longest time that a frame of its processes gathers rows, in milliseconds. */
  readonly flushMs: number
  /** No collector has raised its watermark yet. */
  readonly isNew: boolean
}

/** A collecting run that has ended. */
export interface Run {
  /** End of the run, in milliseconds since the Unix epoch, by the database's clock. */
  readonly at: number
  /** Rows that it has committed. */
  readonly rows: number
  /** Milliseconds it took. */
  readonly ms: number
}

/** Age of `used_at` at which a process that uses its grid renews it. */
const RENEW_USE_MS = 30_000

/** Length of a lease: the longest time for which a collector that has died still holds it. */
export const LEASE_MS = 20_000

/**
 * Longest time between two runs with which a collector keeps the lease. With a longer one it asks
 * for the lease at each run, and gives it back afterwards.
 */
const KEPT_SECONDS = 10

/** Tells whether a collector that comes every `periodSeconds` keeps the lease between its runs. */
export function keepsLease(periodSeconds: number): boolean {
  return periodSeconds <= KEPT_SECONDS
}

/**
 * Time from now past which a lease cannot end: one that does was taken while the database's clock
 * was ahead. It is longer than any lease, because the collector may renew its lease after another
 * process has read the clock.
 */
const WRONG_LEASE_MS = 2 * LEASE_MS

/** Tells whether a lease that ends at `until` is held at `now`. */
export function isHeld(until: number, now: number): boolean {
  return until >= now && until <= now + WRONG_LEASE_MS
}

/** Records a run, if there is one. */
function recorded(run: Run | undefined): Sql {
  const { at = null, rows = null, ms = null } = run ?? {}
  return sql`run_at = COALESCE(${at}, run_at), run_rows = COALESCE(${rows}, run_rows),
    run_ms = COALESCE(${ms}, run_ms)`
}

/**
 * Notes a leap, if the watermark has rested for long. One that follows another within its time
 * leaps from where that has. Stands before `moved_at`: MySQL sees in an assignment what those
 * before it have set.
 */
function rise(end: number, now: number, leapAfterMs: number): Sql {
  const isLeap = sql`moved_at < ${now - leapAfterMs}`
  const isOfOne = sql`leapt_at BETWEEN ${now - LEAP_MS} AND ${now}`
  return sql`leapt_from = CASE WHEN NOT ${isLeap} OR ${isOfOne} THEN leapt_from
    WHEN complete_to BETWEEN ${end} AND ${now} THEN complete_to ELSE ${end} END,
    leapt_at = CASE WHEN ${isLeap} THEN ${now} ELSE leapt_at END`
}

/**
 * Notes a leap from the last moment that is known to be complete: `moved_at` is of a clock that was
 * ahead, so nothing tells for how long the watermark has rested.
 */
function fall(now: number): Sql {
  return sql`leapt_from = CASE WHEN leapt_from <= ${now} THEN leapt_from ELSE 0 END,
    leapt_at = ${now}, complete_to = CASE WHEN complete_to <= ${now} THEN complete_to ELSE 0 END`
}

const GRIDS = table(
  'wide_cache_grids',
  ['name', 'width', 'layer_seconds', 'private_to'],
  'id',
  'watermark',
  'complete_to',
  ['flush_ms', 'greatest'],
  'moved_at',
  ['used_at', 'replace'],
)

const STATE = {
  id: bytes,
  width: Number,
  layerSeconds: Number,
  watermark: Number,
  completeTo: Number,
  flushMs: Number,
  leaseOwner: bytesOrNull,
  mark: bytesOrNull,
}
const OWN = { id: bytes, mark: bytesOrNull, leaseUntil: Number, usedAt: Number }

/** `private_to` of a grid in a shared cache. */
export const SHARED: Buffer = Buffer.alloc(16)

/** Returns the id in `private_to` as text; `null`: the grid is in a shared cache. */
export function ownerText(privateTo: SqlValue | undefined): string | null {
  return Buffer.isBuffer(privateTo) && !privateTo.equals(SHARED) ? idText(privateTo) : null
}

/**
 * The grids of one name as SQL knows them: their ids, their watermarks, and the advisory lease of
 * their collectors. Processes of one geometry and a shared cache have one grid; a private cache
 * (`memory:`) has one of its own.
 */
export class GridRecord {
  readonly #name: string
  readonly #geometry: Geometry
  readonly #drainAfterLayers: number
  readonly #flushMs: number
  readonly #owner: Buffer
  readonly #privateTo: Buffer
  readonly #newId: () => Buffer
  #grid: Grid | undefined
  /** End of the lease of this process's own grid, as last read. */
  #leaseUntil = 0
  /** `used_at` of it, as last read. */
  #usedAt = 0
  #isOnlyOwn = false
  /** A run of this process's collector, which the next rise of the watermark records. */
  lastRun: Run | undefined

  /** `owner`: the id of this process. */
  constructor(parts: {
    name: string
    geometry: Geometry
    drainAfterLayers: number
    flushMs: number
    owner: Buffer
    scope: 'shared' | 'private'
    newId: () => Buffer
  }) {
    this.#name = parts.name
    this.#geometry = parts.geometry
    this.#drainAfterLayers = parts.drainAfterLayers
    this.#flushMs = parts.flushMs
    this.#owner = parts.owner
    this.#privateTo = parts.scope === 'private' ? parts.owner : SHARED
    this.#newId = parts.newId
  }

  /** The grid that this process places frames in; `undefined` as long as it has not reached SQL. */
  get grid(): Grid | undefined {
    return this.#grid
  }

  /**
   * Whether the only grid was leased by this process when it was last read: then each rise of the
   * watermark renews the lease.
   */
  get isRenewedByRaise(): boolean {
    return this.#isOnlyOwn
  }

  /** Id of the process that has its grids in its memory; `null`: they are in a shared cache. */
  get privateTo(): string | null {
    return ownerText(this.#privateTo)
  }

  /**
   * Enters the grid, if it is new, with a watermark `seconds` before `now`: no older cell can live.
   * No row is recorded for a new grid before `bornAt`.
   */
  async enter(
    database: Queryable,
    now: number,
    seconds: number,
    bornAt = now - seconds * 1000,
  ): Promise<void> {
    const { width, layerSeconds } = this.#geometry
    const id = this.#newId()
    const watermark = new Layers(this.#geometry.layerSeconds).at(now - seconds * 1000)
    await GRIDS.upsert(database, [
      [
        this.#name,
        width,
        layerSeconds,
        this.#privateTo,
        id,
        watermark,
        bornAt,
        this.#flushMs,
        now,
        now,
      ],
    ])
    await this.states(database)
  }

  /**
   * Returns all grids that a collector with this cache drains. Also learns the id of this process's
   * own grid.
   */
  async states(database: Queryable): Promise<GridState[]> {
    const grids = await select(database, STATE)`FROM wide_cache_grids
      WHERE name = ${this.#name} AND private_to = ${this.#privateTo} ORDER BY id`
    this.#isOnlyOwn = grids.length === 1 && grids[0]!.leaseOwner?.equals(this.#owner) === true
    return grids.map(({ id, watermark, completeTo, flushMs, mark, ...geometry }) => ({
      grid: this.#known(id, geometry),
      watermark,
      completeTo,
      flushMs,
      isNew: mark === null,
    }))
  }

  /**
   * Reads this process's own grid: its id, and whether it has a collector. Returns the newest mark
   * that the cache of its collector has shown.
   */
  async refresh(database: Queryable): Promise<Buffer | undefined> {
    const { width, layerSeconds } = this.#geometry
    const own = await selectOne(database, OWN)`FROM wide_cache_grids
      WHERE name = ${this.#name} AND width = ${width} AND layer_seconds = ${layerSeconds}
      AND private_to = ${this.#privateTo}`
    this.#grid = own && this.#known(own.id, this.#geometry)
    this.#leaseUntil = own?.leaseUntil ?? 0
    this.#usedAt = own?.usedAt ?? 0
    return own?.mark ?? undefined
  }

  /**
   * Records that this process uses its own grid, unless that was recorded within half a minute. A
   * use that was recorded while the clock was ahead would count for as long.
   */
  async renewUse(database: Queryable, now: number): Promise<void> {
    if (!this.#grid || Math.abs(now - this.#usedAt) < RENEW_USE_MS) return
    await execute(database)`UPDATE wide_cache_grids SET used_at = ${now}
      WHERE id = ${this.#grid.id} AND (used_at < ${now} OR used_at > ${now + RENEW_USE_MS})`
    this.#usedAt = now
  }

  /** Records that nothing comes any more from this process's own grid. */
  async retire(database: Queryable): Promise<void> {
    await execute(database)`UPDATE wide_cache_grids SET used_at = 0 WHERE id = ${this.#grid!.id}`
  }

  /**
   * Moves the watermark within `tx` by compare-and-set, keeps the lease, and records the last run.
   *
   * @throws WatermarkMoved
   */
  async raise(
    tx: Queryable,
    { grid, namespace, from, to, mark, used, leapAfterMs }: Raise,
    now: number,
  ): Promise<void> {
    const end = grid.layers.endOf(from)
    const leap = to > from ? rise(end, now, leapAfterMs) : fall(now)
    const { affectedRows } = await execute(
      tx,
    )`UPDATE wide_cache_grids SET watermark = ${to}, ${leap},
      moved_at = ${now}, mark = COALESCE(${mark ?? null}, mark),
      used_at = COALESCE(${used ? now : null}, used_at), ${recorded(this.lastRun)},
      lease_until = CASE WHEN lease_owner = ${this.#owner} THEN ${now + LEASE_MS}
      ELSE lease_until END WHERE id = ${grid.id} AND watermark = ${from}
      AND EXISTS (SELECT 1 FROM wide_cache_identity WHERE namespace = ${namespace})`
    if (affectedRows !== 1) throw new WatermarkMoved()
  }

  /** Records that all rows of a grid that were recorded before a moment are in SQL. */
  async completeTo(database: Queryable, grid: Grid, moment: number): Promise<void> {
    await execute(database)`UPDATE wide_cache_grids SET complete_to = ${moment}
      WHERE id = ${grid.id}`
  }

  /** Tells whether no process held the lease when {@link refresh} was last called. */
  isFree(now: number): boolean {
    return !isHeld(this.#leaseUntil, now)
  }

  /**
   * Asks for the lease, or renews it, for a collector that comes every `periodSeconds`. `false`:
   * another collector holds it. Also records the collector's timing and its last run. The lease
   * saves work, and no count relies on it.
   */
  async lease(
    database: Queryable,
    now: number,
    periodSeconds: number,
    run?: Run,
  ): Promise<boolean> {
    if (await this.#isLeased(database, now)) return false
    const { affectedRows } = await execute(database)`UPDATE wide_cache_grids
      SET lease_owner = ${this.#owner}, lease_until = ${now + LEASE_MS},
      period_seconds = ${periodSeconds}, drain_after_layers = ${this.#drainAfterLayers},
      ${recorded(run)} WHERE name = ${this.#name} AND private_to = ${this.#privateTo}
      AND (lease_until < ${now} OR lease_until > ${now + WRONG_LEASE_MS}
      OR lease_owner = ${this.#owner})`
    return affectedRows > 0
  }

  /** Whether another process holds the lease, of any grid of the name: a new grid has none. */
  async #isLeased(database: Queryable, now: number): Promise<boolean> {
    const { rows } = await execute(database)`SELECT 1 FROM wide_cache_grids
      WHERE name = ${this.#name} AND private_to = ${this.#privateTo}
      AND lease_owner <> ${this.#owner} AND lease_until >= ${now}
      AND lease_until <= ${now + WRONG_LEASE_MS} LIMIT 1`
    return rows.length > 0
  }

  /** Gives the lease back, and records the run that it was for, unless that has failed. */
  async release(database: Queryable, run?: Run): Promise<void> {
    await execute(database)`UPDATE wide_cache_grids SET lease_owner = NULL, lease_until = 0,
      ${recorded(run)} WHERE name = ${this.#name} AND private_to = ${this.#privateTo}
      AND lease_owner = ${this.#owner}`
  }

  /** Returns the grid of a row; the same object as long as its id is the same. */
  #known(id: Buffer, geometry: Geometry): Grid {
    const own =
      geometry.width === this.#geometry.width &&
      geometry.layerSeconds === this.#geometry.layerSeconds
    if (!own) return new Grid(id, geometry)
    if (!this.#grid?.id.equals(id)) this.#grid = new Grid(id, geometry)
    return this.#grid
  }
}
