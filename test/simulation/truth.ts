import { type Frame, readCell } from '../../src/wide-cache/frame.js'
import { CONFIRM_MARGIN_SECONDS } from '../../src/wide-cache/grid-options.js'
import { isTimedRightly, mustBeInTime, toldTooEarlyMs } from './complete.js'
import { DuplicateCount } from './duplicates.js'
import { wasNeedless } from './needless.js'
import type { WatchedTransaction } from './watched-transaction.js'
import type { WideCacheProcess } from './process.js'
import { type FrameTruth, keyOf, type Records, rowsIn, type RowTruth, UNFRAMED } from './records.js'
import type { Scenario } from './scenario.js'
import {
  type GridRow,
  gridsOf,
  NO_SUMS,
  cellAt,
  type QuarantinedPiece,
  STAMP,
  type Sums,
  sumsOfAll,
  zoneIn,
} from './schema.js'
import type { WatchedDatabaseServer } from './watched-database-server.js'
import { Watermarks } from './watermarks.js'
import { EPOCH, type World } from '../simulated-world/world.js'

/** State of a row in one database. */
type Fate = 'committed' | 'quarantined' | undefined

/** Time for which the list of marks lives in the cache without a new one. */
const MARKS_LIVE_MS = 24 * 3600_000

/**
 * Time after two databases have parted in which frames may still be on their way to the wrong one.
 */
const PARTING_MS = 15_000

/**
 * The true contents of one database, and the checks that must hold at every step: at a commit, a
 * deletion of a cell, a rise of the watermark, and whenever a writer lets go of a frame.
 */
export class Truth {
  readonly name: string
  committedRows = 0
  isClone = false
  quarantinedRows = 0
  /** Rows of another database's processes, which clones may get before they have parted. */
  foreignRows = 0
  /** Rows that were committed directly though a server would have taken them. */
  needlessRows = 0
  duplicates = new DuplicateCount()
  readonly watermarks: Watermarks
  readonly #world: World
  readonly #scenario: Scenario
  readonly #records: Records
  /** By row id. */
  #fates: Fate[] = []
  #sums = NO_SUMS
  /** The zone with which the first rows were committed. */
  #zone: string | undefined
  /** Time up to which a reader of a measure was told that all is in SQL, in ms of the world. */
  readonly #completeTo = [-Infinity, -Infinity]

  constructor(name: string, world: World, scenario: Scenario, records: Records) {
    this.name = name
    this.#world = world
    this.#scenario = scenario
    this.#records = records
    this.watermarks = new Watermarks(world, scenario)
  }

  /** Becomes that of a clone. */
  copyFrom(other: Truth): void {
    this.isClone = true
    this.#fates = [...other.#fates]
    this.committedRows = other.committedRows
    this.quarantinedRows = other.quarantinedRows
    this.duplicates.rows = other.duplicates.rows
    this.watermarks.copyFrom(other.watermarks)
  }

  refusedBySql(id: number): boolean {
    return this.#records.rows[id]!.ailment === 'refused by SQL'
  }

  fateOf(row: RowTruth): Fate {
    return this.#fates[row.id]
  }

  settled(frame: FrameTruth): boolean {
    return frame.rows.every((row) => this.#fates[row.id] !== undefined)
  }

  /** `read()` has told a process that all that was recorded before `asOf` is in SQL. */
  toldComplete(process: WideCacheProcess, asOf: number): void {
    const { name, missing, measure } = process
    this.#checkLost(process, asOf)
    this.#completeTo[measure] = Math.max(this.#completeTo[measure]!, asOf - EPOCH)
    // What is older comes no more, or its writer has been away from SQL for so long.
    const directMs = 1000 * (this.#scenario.confirmSeconds + CONFIRM_MARGIN_SECONDS)
    if (asOf - EPOCH <= this.#world.now - directMs) return
    for (const frame of missing) {
      if (frame.process.measure !== measure) continue
      const recordedAt = Math.min(...frame.rows.map((row) => row.recordedAt))
      this.#world.check(
        this.settled(frame) ||
          asOf - EPOCH <= recordedAt ||
          frame.closedAt < this.#world.now - directMs,
        () =>
          `${name} is told that all is in SQL ${asOf - EPOCH - recordedAt} ms beyond frame ` +
          `${frame.key}, which is missing`,
      )
    }
  }

  /** What the cache has lost is missing for a short time only, though figures go on. */
  #checkLost({ name, measure }: WideCacheProcess, asOf: number): void {
    const { lostMemory } = this.#records
    const before = asOf - EPOCH - (lostMemory ? 0 : toldTooEarlyMs(this.#scenario))
    for (const frame of this.#records.frames.values()) {
      if (frame.process.site.truth !== this || frame.process.measure !== measure) continue
      const recordedAt = Math.min(...frame.rows.map((row) => row.recordedAt))
      this.#world.check(
        recordedAt >= before ||
          this.settled(frame) ||
          !mustBeInTime(this.#records, this.#scenario, frame),
        () =>
          `${name} is told that all is in SQL ${asOf - EPOCH - recordedAt} ms beyond frame ` +
          `${frame.key}, which the cache has lost`,
      )
    }
  }

  /**
   * The frames that have not come though a later one of their writer has. Not those whose writers
   * had another time than the database: before they knew its clock, or when that stepped.
   */
  missingFrames(): FrameTruth[] {
    if (this.#scenario.databaseStepMs !== 0) return []
    return this.#records.processes
      .filter(({ site }) => site.truth === this)
      .flatMap(({ frames }) => {
        const missing: FrameTruth[] = []
        const comeFrom = new Set<string>()
        for (const frame of frames.toReversed()) {
          const { writer } = frame.held
          if (!isTimedRightly(this.#scenario, frame)) return []
          if (this.settled(frame)) comeFrom.add(writer)
          else if (comeFrom.has(writer) && frame.letGoAt === undefined) missing.push(frame)
        }
        return missing
      })
  }

  #checkInTime(row: RowTruth): void {
    const completeTo = this.#completeTo[row.process.measure]!
    if (row.recordedAt >= completeTo) return
    const frame = this.#records.frameOf(row)
    this.#world.check(
      !frame ||
        (frame.closedAt <= this.#records.lostCellsAt && !this.#records.lostMemory) ||
        !mustBeInTime(this.#records, this.#scenario, frame),
      () =>
        `row ${row.id} of ${row.process.name} comes to SQL though figures were complete ` +
        `${completeTo - row.recordedAt} ms later than it was recorded`,
    )
  }

  /** It has been let go of for longer than a cell lives: it is lost, and may come too late. */
  #lostByNow(frame: FrameTruth): boolean {
    return (
      frame.letGoAt !== undefined &&
      this.#world.now - frame.letGoAt >= this.#scenario.cellTtlSeconds * 1000
    )
  }

  /** A collector deletes a cell: what it has read there must be settled. */
  deletes(process: WideCacheProcess, key: string): void {
    const read = process.reads.get(key)
    if (!read?.value) {
      return this.#world.fail(`${process.name} deletes ${key}, which it has not read`)
    }
    for (const frame of readCell(read.value, STAMP).frames) process.readAgain.delete(keyOf(frame))
    this.mustBeSettled(read.value, () => `${process.name} deletes ${key}`)
  }

  /** All frames of this database's own processes in a cell must be settled. */
  mustBeSettled(cell: Buffer, what: () => string): void {
    for (const frame of this.#ownFrames(cell)) {
      this.#world.check(
        this.settled(frame) || this.#lostByNow(frame),
        () => `${what()} though frame ${frame.key} is not settled`,
      )
    }
  }

  #ownFrames(cell: Buffer): FrameTruth[] {
    const frames = readCell(cell, STAMP).frames.map((frame) =>
      this.#records.frames.get(keyOf(frame)),
    )
    return frames
      .filter((frame) => frame !== undefined)
      .filter((frame) => frame.process.site.truth === this)
  }

  /** A transaction has been committed. */
  committed(tx: WatchedTransaction, database: WatchedDatabaseServer): void {
    this.#settled(tx, tx.rows, tx.brought?.frames ?? [])
    this.#sumsMustHold(database)
    if (this.#scenario.zones.length > 0 && tx.rows.length > 0) this.#zoneMustStay(database)
    if (tx.raised) this.watermarks.raised(tx.process, database, this)
  }

  /** The ledger has entries of `rows`, and of what was brought with them. */
  #settled(tx: WatchedTransaction, rows: readonly number[], brought: readonly Frame[]): void {
    for (const id of rows) {
      const row = this.#records.rows[id]
      if (!row) return this.#world.fail(`row ${id} is committed though nobody has issued it`)
      this.#world.check(
        this.#fates[id] === undefined,
        () => `row ${id} of ${row.process.name} is committed twice`,
      )
      this.#fates[id] = 'committed'
      this.#checkInTime(row)
      if (row.process.site.truth !== this) this.#foreign(row)
    }
    this.committedRows += rows.length
    const quarantined = this.#quarantined(tx.quarantined)
    const fresh = new Set(rows)
    for (const frame of quarantined) for (const row of frame.rows) fresh.add(row.id)
    if (tx.brought) {
      const frames = brought.map((frame) => this.#records.frames.get(keyOf(frame))!)
      this.duplicates.committed(tx.process, frames, tx.brought.drained, fresh)
      if (!tx.brought.drained) {
        for (const frame of frames) {
          if (fresh.has(frame.rows[0]!.id) && wasNeedless(this.#world, this.#scenario, frame)) {
            this.needlessRows += frame.rows.length
          }
        }
      }
    }
  }

  /** The days are decided before rows come, by a process that has some, and for good. */
  #zoneMustStay(database: WatchedDatabaseServer): void {
    const zone = zoneIn(database.look)
    this.#zone ??= zone
    const isAsked = this.#records.processes.some(
      ({ zone: own, rows }) => own?.name === zone && rows.length > 0,
    )
    this.#world.check(
      zone === this.#zone && isAsked,
      () =>
        `rows come with days of "${zone}", which ${isAsked ? 'a' : 'no'} recording process has, ` +
        `and the first ones had "${this.#zone}"`,
    )
  }

  /** A statement has moved a watermark by itself. */
  raised(owner: string, database: WatchedDatabaseServer): void {
    this.watermarks.raised(this.#records.processOf(owner)!, database, this)
  }

  /**
   * A statement that commits by itself has committed rows of a measure without their entries in the
   * ledger, and those of the measures before it with theirs.
   */
  committedBeside(tx: WatchedTransaction): void {
    const measureOf = (id: number): number => this.#records.rows[id]!.process.measure
    const last = measureOf(tx.rows.at(-1)!)
    const rows = tx.rows.filter((id) => measureOf(id) < last)
    this.#settled(tx, rows, tx.brought?.frames.filter(({ measure }) => measure < last) ?? [])
  }

  /** This database has found out about another that uses the id of one of its grids. */
  hasParted(id: string): void {
    this.#world.check(
      this.#scenario.otherSite === 'clone',
      () => `database ${this.name} takes another for a clone of itself`,
    )
    this.#world.check(
      !this.#mustHaveParted || this.isClone,
      () => `database ${this.name} gives its keys up to its clone`,
    )
    this.#records.givenUp.set(id, this.#world.now)
  }

  #sumsMustHold(database: WatchedDatabaseServer): void {
    const sums = sumsOfAll(database.look)
    const { committed, quarantined, duplicate } = sums
    for (const name of Object.keys(sums) as (keyof Sums)[]) {
      this.#world.check(
        sums[name] >= this.#sums[name],
        () => `the total of ${name} falls from ${this.#sums[name]} to ${sums[name]}`,
      )
    }
    this.#sums = sums
    this.#world.check(
      committed === this.committedRows && quarantined === this.quarantinedRows,
      () =>
        `the ledger has ${committed} rows committed and ${quarantined} quarantined; the ` +
        `tables have ${this.committedRows} and ${this.quarantinedRows}`,
    )
    this.#world.check(
      duplicate === this.duplicates.rows,
      () =>
        `the ledger has ${duplicate} duplicate rows, and ${this.duplicates.rows} have come again`,
    )
  }

  /** The clone has seen a mark, which no cache has lost since, and which has not run out. */
  get #mustHaveParted(): boolean {
    const { clonesMustPart, cacheDisturbedAt } = this.#records
    return clonesMustPart && cacheDisturbedAt === -Infinity && this.#world.now < MARKS_LIVE_MS
  }

  #foreign(row: RowTruth): void {
    this.foreignRows++
    const frame = this.#records.frameOf(row)
    const at = frame?.closedAt ?? 0
    // Of each grid the collectors find out for themselves.
    const ids = [...(frame?.storedAt.keys() ?? [])].map((key) => cellAt(key).grid)
    const apartSince = Math.max(...ids.map((id) => this.#records.givenUp.get(id) ?? Infinity))
    // A writer learns of its grid's new id when it asks for its prefix.
    const knew = row.process.frames.some(
      ({ closedAt }) => closedAt > apartSince && closedAt < at - PARTING_MS,
    )
    // Marks whose server is down show nothing.
    const mayNotShow = this.#world.faulty || row.process.servers.some((server) => !server.up)
    // Where SQL does not tell, a frame goes to the grid that was known.
    const { awaySince, awayUntil } = row.process.site.database
    const mayNotTell = at >= awaySince && at < awayUntil
    this.#world.check(
      this.#scenario.otherSite === 'clone' &&
        !this.#mustHaveParted &&
        (mayNotShow || mayNotTell || !knew),
      () =>
        `row ${row.id} of ${row.process.name} has come to database ${this.name}, which is ` +
        'not its own',
    )
  }

  #quarantined(pieces: readonly QuarantinedPiece[]): Set<FrameTruth> {
    const kept = new Map<FrameTruth, Buffer[]>()
    for (const { frame: key, bytes } of pieces) {
      const frame = this.#records.frames.get(key)
      if (!frame) {
        this.#world.fail(`a frame is in quarantine that nobody has closed: ${key}`)
        continue
      }
      kept.set(frame, [...(kept.get(frame) ?? []), bytes])
    }
    for (const [frame, bytes] of kept) {
      this.#world.check(
        Buffer.concat(bytes).equals(frame.held.bytes),
        () => `the pieces of frame ${frame.key} in quarantine are not the frame`,
      )
      this.#world.check(
        frame.rows.some(({ ailment }) => ailment !== 'none' && !UNFRAMED.includes(ailment)),
        () => `frame ${frame.key} is in quarantine though nothing is wrong with its rows`,
      )
      for (const row of frame.rows) {
        this.#world.check(
          this.#fates[row.id] === undefined,
          () => `row ${row.id} is in quarantine and has been settled before`,
        )
        this.#fates[row.id] = 'quarantined'
      }
    }
    this.quarantinedRows += rowsIn(kept.keys())
    return new Set(kept.keys())
  }

  /** A process has entered a grid; the first of them sets its watermark. */
  entered(database: WatchedDatabaseServer): void {
    this.watermarks.entered(gridsOf(database.look))
  }

  /**
   * Some collector has been there all the time: only those that have seen the clock step know where
   * to begin again.
   */
  get #drainsBelowWatermark(): boolean {
    const { duplicated, differentLists, cachePerMachine } = this.#scenario
    const collects = this.#records.processes.some(
      (process) =>
        process.site.truth === this &&
        process.alive &&
        process.collects &&
        !process.toldLost &&
        process.startedAt === 0,
    )
    return duplicated === 0 && !differentLists && !cachePerMachine && collects
  }

  /**
   * At the end: no cell that a collector must have drained still holds what the ledger does not
   * have.
   */
  left(key: string, value: Buffer, grids: readonly GridRow[]): void {
    const { drainAfterLayers, collectEveryMs } = this.#scenario
    const { grid: id, layer } = cellAt(key)
    // A grid with a new id has given up the cells of the old one: their writers bring what they
    // hold to SQL.
    const grid = grids.find((other) => other.id === id)
    if (!grid) return
    const layerMs = grid.layerSeconds * 1000
    // The last drain may be a period old.
    const newest =
      Math.floor((EPOCH + this.#world.now - 2 * collectEveryMs) / layerMs) - drainAfterLayers
    const risenAhead = layer <= grid.watermark
    if (
      this.watermarks.hasPassed(grid, layer) ||
      layer > newest ||
      (risenAhead && !this.#drainsBelowWatermark)
    ) {
      return
    }
    for (const frame of this.#ownFrames(value)) {
      // What comes to a layer that is old enough to be drained may come after that.
      const inTime = frame.storedAt.get(key)! < (layer + 1) * layerMs - EPOCH
      if (inTime || !risenAhead) {
        this.#world.check(
          this.settled(frame) || this.#lostByNow(frame),
          () => `cell ${key} has been forgotten though frame ${frame.key} is not settled`,
        )
      }
    }
  }
}
