/** Parts of a process of a wide cache of texts, for laws that need not all of it. */
import { MAX_TTL_SECONDS } from '../../src/cache/cache.js'
import { MEMORY_KEYS } from '../../src/wide-cache/collector/cache-memory.js'
import { type DrainReport, newReport } from '../../src/wide-cache/collector/drain-report.js'
import { GridDrain } from '../../src/wide-cache/collector/grid-drain.js'
import { SameCache } from '../../src/wide-cache/collector/same-cache.js'
import { namespaced } from '../../src/connections/namespaced-cache.js'
import { jsonCodec } from '../../src/support/exact-json.js'
import { ClockWatch } from '../../src/wide-cache/clock-watch.js'
import type { Frame } from '../../src/wide-cache/frame.js'
import { GridRecord, WatermarkMoved } from '../../src/wide-cache/ledger/grid-record.js'
import { Ledger } from '../../src/wide-cache/ledger/ledger.js'
import { STAMP } from '../../src/wide-cache/ledger/sender.fixture.js'
import { PublishedWatermark } from '../../src/wide-cache/published-watermark.js'
import type { HeldFrame } from '../../src/wide-cache/writer/outbox.js'
import { Placer } from '../../src/wide-cache/writer/placer.js'
import { enterName } from '../../src/wide-cache/ledger/name-settings.js'
import { Writer } from '../../src/wide-cache/writer/writer.js'
import { BurstLogger } from '../../src/support/logger.js'
import type { Orders, Ports } from '../simulated-world/explorer.js'
import { SILENT } from '../../src/support/logger.js'
import { commitTexts, emptyTable, LAYER_MS, NAME } from './wide-cache.js'

export const DRAIN_AFTER_LAYERS = 2
export const CONFIRM_SECONDS = 60
const DIRECT_SECONDS = CONFIRM_SECONDS + 15
const CELL_TTL_SECONDS = 10

/** Age of the watermark of the new grid, in seconds. */
const NEW_GRID_SECONDS = 5

/** What the parts of one process share. */
export function partsOf(ports: Ports, { maxCommitRows = 100, geometry = GEOMETRY } = {}) {
  const { database, environment } = ports
  const { clock, newId } = environment
  const logger = new BurstLogger(SILENT, () => clock.elapsed())
  const cache = namespaced(ports.cache, { database, environment, logger })
  const watch = new ClockWatch(clock, logger)
  const name = NAME
  const record = new GridRecord({
    name,
    geometry,
    drainAfterLayers: DRAIN_AFTER_LAYERS,
    flushMs: 50,
    owner: newId(),
    scope: 'shared',
    newId,
  })
  const settings = {
    name,
    codec: jsonCodec<string>(),
    commit: commitTexts,
    flushMs: 50,
    confirmSeconds: CONFIRM_SECONDS,
    layerSeconds: geometry.layerSeconds,
    drainAfterLayers: DRAIN_AFTER_LAYERS,
    periodSeconds: 1,
    cellTtlSeconds: CELL_TTL_SECONDS,
    directSeconds: DIRECT_SECONDS,
    maxFrameBytes: 1_024,
    maxOutboxBytes: 1_024 * 1_024,
    closeTimeoutMs: 5_000,
    maxCommitRows,
  }
  const shared = {
    settings,
    cache,
    database,
    environment,
    clock,
    newId,
    logger,
    watch,
    record,
    stamp: STAMP,
  }
  // Answers come before anybody loses patience, which a law would else take for one more order.
  const patient = { ...clock, after: () => ({ cancel: () => undefined }) }
  const published = new PublishedWatermark({ ...settings, cache, clock: patient })
  const measures = [settings]
  const ledger = new Ledger<string>({ ...settings, measures, database, record, watch, clock })
  return { ...shared, ports, published, ledger, sameCache: new SameCache(shared) }
}

export type Parts = ReturnType<typeof partsOf>

/** One column, so that all frames meet. */
export const GEOMETRY = { width: 1, layerSeconds: LAYER_MS / 1000 }

/** Enters the grid of the first of some processes, and lets all of them know it and its keys. */
export async function enterGrid(
  orders: Orders,
  [first, ...others]: readonly [Parts, ...Parts[]],
): Promise<void> {
  emptyTable(orders)
  await orders.alone(async () => {
    await enterName(first.database, {
      name: NAME,
      kind: 'rows',
      cellTtlSeconds: CELL_TTL_SECONDS,
      directSeconds: DIRECT_SECONDS,
      vanishedSeconds: DIRECT_SECONDS,
      nameSettings: {},
    })
    await first.record.enter(first.database, await first.database.now(), NEW_GRID_SECONDS)
    for (const { record, database } of others) await record.states(database)
    for (const { cache } of [first, ...others]) await cache.namespace.enter()
  })
  await rememberKeys(orders)
}

/** So that no order is added by a collector that finds that the cache is new. */
export async function rememberKeys(orders: Orders): Promise<void> {
  for (const key of MEMORY_KEYS) {
    await orders.store.set(orders.keyStart() + key, Buffer.from('0'), MAX_TTL_SECONDS)
  }
}

/** Returns a drain of the grid of a process. */
export function drainOf(parts: Parts): GridDrain {
  return new GridDrain({ ...parts, namespace: parts.cache.namespace.id! }, parts.record.grid!)
}

/** Drains until no other process moves the watermark meanwhile. */
export async function drainAgain(parts: Parts, report = newReport()): Promise<void> {
  for (;;) {
    try {
      return void (await drainOnce(parts, drainOf(parts), report))
    } catch (error) {
      if (!(error instanceof WatermarkMoved)) throw error
      await parts.cache.namespace.look({ always: true })
    }
  }
}

/** Drains once, from the watermark that SQL has. Adds to `report`. */
export async function drainOnce(
  { record, database }: Parts,
  drain: GridDrain,
  report: DrainReport = newReport(),
): Promise<DrainReport> {
  const [state] = await record.states(database)
  await drain.drain(await database.now(), state!, undefined, report)
  return report
}

/** A database whose grid has been entered. */
export const NO_MIGRATION = { migrate: async (): Promise<void> => undefined }

/** Returns a placer of a process. */
export function placerOf(parts: Parts): Placer {
  const { record, database } = parts
  return new Placer({
    ...parts,
    database: NO_MIGRATION,
    heartbeat: async () => {
      await record.refresh(database)
      await parts.cache.namespace.look()
    },
    sameCache: { differs: false },
  })
}

/** Returns a writer of a process. */
export function writerOf(parts: Parts): Writer<string> {
  const { sameCache } = parts
  return new Writer({
    ...parts,
    measure: 0,
    database: NO_MIGRATION,
    heartbeat: () => sameCache.compare(),
  })
}

/** Returns a frame as its writer holds it. */
export function held(frame: Frame, { clock }: Parts): HeldFrame {
  return {
    ...frame,
    openedAt: clock.now(),
    closedAt: clock.elapsed(),
    layer: undefined,
    placing: undefined,
  }
}

/** Returns the watermark that SQL has. */
export function watermarkOf(orders: Orders, database = ''): number {
  const [row] = orders.look('SELECT watermark FROM wide_cache_grids', [], database)
  return Number(row?.['watermark'])
}
