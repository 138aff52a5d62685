/**
 * The needs of a site of any size, calculated: memcached servers, width, collectors, SQL, memory.
 * Pure arithmetic over measured {@link Constants}; what is assumed beside them stands in
 * {@link CAPACITY} and in the docstrings.
 *
 * Words are those of docs/contributing/architecture.md. Times are seconds, costs are µs, sizes are
 * bytes, rates are per second, unless a name says otherwise. Visits come at random (Poisson),
 * independently in all processes.
 */

import {
  type CacheWork,
  cacheWorkOf,
  framesOf,
  GRID,
  LIMITS,
  mostFrames,
  widthFor,
} from './scale/grid-model.js'

export interface Load {
  readonly processes: number
  /** Visits a second of each process. */
  readonly rate: number
}

/**
 * Assumed size of one machine of each sort, and the share of it to use: the rest is for peaks and
 * outages.
 */
export const CAPACITY = {
  cacheCores: 2,
  cacheNetworkBytes: 125e6,
  cacheMemoryBytes: 8 * 2 ** 30,
  databaseCores: 16,
  collectorMemoryBytes: 2 ** 30,
  used: 0.5,
} as const

/**
 * A cost that has a part for each visit and one for each frame: `visit + frame / rows of a frame`.
 */
export type Cost = Readonly<Record<'visit' | 'frame', number>>

/** Measured by the part `scale`; see bench/scale/constants.ts. */
export interface Constants {
  /** From which file and when. */
  readonly source: string
  /** Size of a visit in a frame, its length included. */
  readonly rowBytes: number
  /** CPU of a web process. */
  readonly web: Cost
  /**
   * Wall-clock time of a collector that drains, its waiting for SQL included: it does one thing
   * after the other.
   */
  readonly collector: Cost
  /**
   * CPU of the SQL server, taken to spread over its cores; its disks are not looked at. Without the
   * retention's deletes, which come a day later.
   */
  readonly database: Cost
  /** Rows written in SQL, sums and ledger included. */
  readonly rowsWritten: Cost
  /** CPU of memcached. */
  readonly cacheOperation: number
  readonly cacheCopiedByte: number
  /** The busiest of several servers over the average. */
  readonly cacheUnevenness: number
  /** The share of memcached's memory that growing cells can fill. */
  readonly cacheUsableShare: number
}

/** `visit + frame / rowsPerFrame`. */
export function costOf({ visit, frame }: Cost, rowsPerFrame: number): number {
  return visit + frame / rowsPerFrame
}

/** Needs of a load. Rates and sizes are of all processes together unless they say otherwise. */
export type Needs = ReturnType<typeof needsOf>

/**
 * Columns of a layer for each server: with fewer, chance leaves servers without work in a layer.
 */
const COLUMNS_A_SERVER = 8

export function needsOf({ processes, rate }: Load, constants: Constants) {
  const visits = processes * rate
  const { layerSeconds, drainAfterLayers, periodSeconds } = GRID
  const frame = framesOf(rate, constants.rowBytes)
  const frames = processes * frame.perSecond
  const oneCollector = (1e6 / costOf(constants.collector, frame.rowsPerFrame)) * CAPACITY.used
  const byWidth = (frames * layerSeconds) / mostFrames(frame.bytes, LIMITS.width)
  const byRetention = visits / LIMITS.retainedRowsPerSecond
  const grids = Math.ceil(Math.max(1, visits / oneCollector, byWidth, byRetention))

  const layer = {
    frames: (frames * layerSeconds) / grids,
    frameBytes: frame.bytes,
    writers: processes / grids,
    keyBytes: 42,
  }
  const leastWidth = widthFor(layer.frames, frame.bytes)
  const drainAge = (drainAfterLayers + 1) * layerSeconds
  const waiting = drainAge + periodSeconds * (1 + CAPACITY.used)
  const cacheMemory = (frames * frame.bytes * waiting) / constants.cacheUsableShare
  const work = (width: number): CacheWork => cacheWorkOf({ ...layer, width })

  // More servers ask for more columns, and more columns for a few operations more: one look back is
  // enough.
  let width = Math.max(GRID.defaultWidth, leastWidth)
  let servers = serversFor(work(width), grids, cacheMemory, constants)
  width = Math.min(
    LIMITS.width,
    Math.max(width, Math.ceil((servers.count * COLUMNS_A_SERVER) / grids)),
  )
  servers = serversFor(work(width), grids, cacheMemory, constants)

  const { operations, bytes } = work(width)
  const confirm =
    drainAge + periodSeconds * (1 + CAPACITY.used) + LIMITS.confirmEverySeconds + LIMITS.tickSeconds
  const held = Math.max(confirm, GRID.confirmSeconds)
  return {
    visits,
    rowsPerFrame: frame.rowsPerFrame,
    /** The share of a core that each web process spends. */
    webShare: (rate * costOf(constants.web, frame.rowsPerFrame)) / 1e6,
    /**
     * Grids, each of its own name, and each with one collector at work: its lease lets no second
     * one.
     */
    grids,
    leastWidth,
    /** Width of each grid: the least, the default, or what spreads a layer over the servers. */
    width,
    cellBytes: (layer.frames / width) * frame.bytes,
    framesPerCell: layer.frames / width,
    cacheOperations: (grids * operations) / layerSeconds,
    cacheBytes: (grids * bytes) / layerSeconds,
    /**
     * Cells that wait: the drain age, the period, and the drain itself. They go with the commit,
     * not with its confirmation.
     */
    cacheMemory,
    /**
     * The same if collectors are away for as long as writers hold frames. Beyond that writers
     * commit themselves.
     */
    cacheMemoryAway: (frames * frame.bytes * held) / constants.cacheUsableShare,
    servers: servers.count,
    /** The resource of a server that asks for so many. */
    serversFor: servers.by,
    sqlRows: visits * costOf(constants.rowsWritten, frame.rowsPerFrame),
    ledgerFrames: frames,
    databases: Math.ceil(
      (visits * costOf(constants.database, frame.rowsPerFrame)) /
        (CAPACITY.databaseCores * CAPACITY.used * 1e6),
    ),
    outboxBytes: held * frame.perSecond * (frame.bytes + LIMITS.frameOverheadBytes),
    /** From a visit until its writer lets go of it, at worst, while all works. */
    confirmSeconds: confirm,
  }
}

/**
 * Servers for `grids` times such a layer, and by what: processor, network (the busier way) or
 * memory.
 */
function serversFor(
  layer: CacheWork,
  grids: number,
  memory: number,
  constants: Constants,
): { count: number; by: string } {
  const perSecond = grids / GRID.layerSeconds
  const cpu =
    (layer.operations * constants.cacheOperation + layer.copiedBytes * constants.cacheCopiedByte) *
    perSecond
  const [most] = [
    { by: 'processor', count: cpu / (CAPACITY.cacheCores * 1e6) / CAPACITY.used },
    // What goes in comes out: about half of the bytes each way.
    {
      by: 'network',
      count: ((layer.bytes / 2) * perSecond) / CAPACITY.cacheNetworkBytes / CAPACITY.used,
    },
    { by: 'memory', count: memory / CAPACITY.cacheMemoryBytes },
  ].sort((a, b) => b.count - a.count)
  // One server has all, evenly.
  return {
    by: most!.by,
    count: most!.count <= 1 ? 1 : Math.ceil(most!.count * constants.cacheUnevenness),
  }
}

/**
 * Returns what gives out first, second, and so on, as processes of `rate` visits a second each are
 * added to one grid on one database: at how many visits a second of all processes unless `resource`
 * says otherwise.
 */
export function endsOf(rate: number, constants: Constants) {
  const frame = framesOf(rate, constants.rowBytes)
  const visitsOf = (framesPerLayer: number): number =>
    (framesPerLayer / GRID.layerSeconds) * frame.rowsPerFrame
  const wide = (width: number): number => visitsOf(mostFrames(frame.bytes, width))
  const oneServer = capacityOfOneServer(rate, constants)
  const databaseCpu = CAPACITY.databaseCores * CAPACITY.used * 1e6
  const ends: readonly (readonly [resource: string, visits: number, change: string])[] = [
    [
      'retention, a third of the time',
      LIMITS.retainedRowsPerSecond,
      'partition `activities` by day and drop whole partitions; or a WideCache whose ' +
        'commit keeps sums only',
    ],
    [
      'the one collector that the lease lets work',
      (1e6 / costOf(constants.collector, frame.rowsPerFrame)) * CAPACITY.used,
      'several grids: a name for each group of processes, or of sites; views add up, ' +
        'unique visitors only if each visitor keeps to one group',
    ],
    [
      `one SQL server of ${CAPACITY.databaseCores} cores, by its CPU alone`,
      databaseCpu / costOf(constants.database, frame.rowsPerFrame),
      'a database for each group of grids; or Vitess or TiDB under the same SQL, sharded ' +
        'by grid name; or sums only',
    ],
    ['one memcached server', oneServer, 'more servers, and a width of eight columns each'],
    [
      'the one memcached server that has the watermark',
      // A writer reads it once a frame.
      ((CAPACITY.cacheCores * CAPACITY.used * 1e6) / constants.cacheOperation) * frame.rowsPerFrame,
      'several grids: their watermarks lie on different servers',
    ],
    [
      `${LIMITS.servers} memcached servers, the most of one list`,
      oneServer * LIMITS.servers,
      'a list of servers for each group of grids',
    ],
    [
      `width ${GRID.defaultWidth} (cells reach 1 MiB)`,
      wide(GRID.defaultWidth),
      `a greater width, under a new name, up to ${LIMITS.width}`,
    ],
    [
      `width ${LIMITS.width} (cells reach 1 MiB)`,
      wide(LIMITS.width),
      'shorter layers, several grids, or memcached -I 4m',
    ],
    [
      `a collector's memory (${LIMITS.firstLayersFetched} layers at once)`,
      visitsOf(
        (CAPACITY.collectorMemoryBytes * CAPACITY.used) / (LIMITS.firstLayersFetched * frame.bytes),
      ),
      'several grids, or shorter layers',
    ],
    [
      'one process: its outbox of 32 MiB, collectors away',
      (GRID.maxOutboxBytes / (GRID.confirmSeconds * (frame.bytes + LIMITS.frameOverheadBytes))) *
        frame.rowsPerFrame,
      'a greater maxOutboxBytes; beyond it the oldest placed frames are let go of, which ' +
        'only matters if the cache loses them',
    ],
  ]
  return ends
    .map(([resource, visits, change]) => ({ resource, visits, change }))
    .sort((a, b) => a.visits - b.visits)
}

/** Visits a second for which one server, used as far as it may be, is enough. */
function capacityOfOneServer(rate: number, constants: Constants): number {
  let [low, high] = [1, 1e6]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (needsOf({ processes: middle, rate }, constants).servers === 1) low = middle
    else high = middle
  }
  return low * rate
}
