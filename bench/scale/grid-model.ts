/**
 * The arithmetic of one grid, the part of bench/model.ts that knows no measured cost: frames,
 * cells, and what passes between writers, collector and cache. Visits come at random (Poisson),
 * independently in all processes.
 */
import { MEMORY_KEYS } from '../../src/wide-cache/collector/cache-memory.js'
import { FIRST_LAYERS } from '../../src/wide-cache/collector/grid-drain.js'
import { hintBytes, MAX_WRITERS } from '../../src/wide-cache/drain-hint.js'
import { HEADER_BYTES } from '../../src/wide-cache/frame.js'
import { gridSettings } from '../../src/wide-cache/grid-options.js'
import { FRAME_OVERHEAD_BYTES } from '../../src/wide-cache/writer/outbox.js'
import { CONFIRM_EVERY_MS, REST_MS } from '../../src/wide-cache/writer/upkeep.js'
import { ENOUGH_MS, ENOUGH_ROWS, MAX_FRAME_ROWS } from '../../src/wide-cache/writer/writer.js'

const defaults = gridSettings({})

/** The options of the wide cache that matter here, at their defaults. */
export const GRID = {
  ...defaults,
  longestSeconds: defaults.flushMs / 1000,
  enoughSeconds: ENOUGH_MS / 1000,
  defaultWidth: defaults.width,
}

/**
 * Limits built into the wide cache (src/wide-cache, src/activity/retention.ts, src/cache) and into
 * memcached.
 */
export const LIMITS = {
  frameRows: MAX_FRAME_ROWS,
  frameBytes: defaults.maxFrameBytes,
  frameHeaderBytes: HEADER_BYTES,
  frameOverheadBytes: FRAME_OVERHEAD_BYTES,
  width: 1_000,
  servers: 100,
  confirmEverySeconds: CONFIRM_EVERY_MS / 1000,
  tickSeconds: REST_MS / 1000,
  firstLayersFetched: FIRST_LAYERS,
  /** memcached's largest item, 1 MiB by default, less its header and key. */
  cellBytes: 2 ** 20 - 512,
  /** A third of the time, in which 290,000 rows a second are removed. */
  retainedRowsPerSecond: 97_000,
} as const

/**
 * The frames of one writer: a frame opens with a visit and is closed with its 16th, but not before
 * it is `enoughSeconds` old, nor later than `longestSeconds`, or when it is full.
 */
export function framesOf(rate: number, rowBytes: number) {
  const fitting = Math.floor((LIMITS.frameBytes - LIMITS.frameHeaderBytes) / rowBytes)
  const full = Math.min(LIMITS.frameRows, fitting)
  const within = (seconds: number): number => 1 + rate * seconds
  const enough = Math.max(ENOUGH_ROWS, within(GRID.enoughSeconds))
  const rowsPerFrame = Math.min(full, enough, within(GRID.longestSeconds))
  return {
    rowsPerFrame,
    perSecond: rate / rowsPerFrame,
    bytes: LIMITS.frameHeaderBytes + rowsPerFrame * rowBytes,
  }
}

/**
 * Returns how many of `cells` are hit, on the average, by `throws` at random: cells x (1 - (1 -
 * 1/cells)^throws).
 */
export function hit(cells: number, throws: number): number {
  return cells <= 1 ? Math.min(1, throws) : cells * (1 - (1 - 1 / cells) ** throws)
}

/**
 * Bytes that a cell exceeds in one of a million cases at most. Frames fall into columns at random,
 * so a cell has a Poisson number of them, of mean m = frames of a layer / width; by Bernstein's
 * bound it exceeds m + t with a probability below exp(-t^2 / (2 (m + t/3))). No visit hangs on it:
 * a full cell refuses, and its frame takes another column.
 */
export function largestCell(framesPerLayer: number, frameBytes: number, width: number): number {
  const mean = framesPerLayer / width
  const chance = Math.log(1e6)
  return (mean + chance / 3 + Math.sqrt(chance ** 2 / 9 + 2 * mean * chance)) * frameBytes
}

/**
 * The least width with which {@link largestCell} fits into an item of memcached. Infinity: none up
 * to the greatest that there is.
 */
export function widthFor(framesPerLayer: number, frameBytes: number): number {
  if (largestCell(framesPerLayer, frameBytes, LIMITS.width) > LIMITS.cellBytes) return Infinity
  let [low, high] = [1, LIMITS.width as number]
  while (low < high) {
    const middle = (low + high) >> 1
    if (largestCell(framesPerLayer, frameBytes, middle) <= LIMITS.cellBytes) high = middle
    else low = middle + 1
  }
  return low
}

/** Traffic between writers, collector and cache for one layer. */
export type CacheWork = ReturnType<typeof cacheWorkOf>

/**
 * Returns the work of one layer. Each frame is an `append`; if the cell is new, it finds none, and
 * an `add` sends the frame again. Then its writer reads the watermark. The collector asks for all
 * cells, and for the keys that show what the cache has lost, deletes the cells that are, and
 * publishes the watermark, and a hint that names all writers. From the moment at which a layer may
 * be drained its writers read the hint every 3 s, until it tells of the layer: a collector comes
 * half a period later, on the average. `keyBytes`: of a cell's key.
 */
export function cacheWorkOf(layer: {
  frames: number
  frameBytes: number
  writers: number
  width: number
  keyBytes: number
}) {
  const { frames, frameBytes, width, keyBytes } = layer
  const cells = hit(width, frames)
  const looks = hit(layer.writers, frames) * (1 + GRID.periodSeconds / 2 / LIMITS.tickSeconds)
  const HEADER = 24
  const appends = frames * (HEADER + keyBytes + frameBytes + HEADER) + cells * 'Not stored.'.length
  const adds = cells * (HEADER + 8 + keyBytes + frameBytes + HEADER)
  const gets =
    width * (HEADER + keyBytes + HEADER) +
    cells * 4 +
    frames * frameBytes +
    (width - cells) * 'Not found'.length
  const memory = MEMORY_KEYS.length * (HEADER + keyBytes + HEADER + 4 + '0'.length)
  const deletes = cells * (HEADER + keyBytes + HEADER)
  const hint = hintBytes(Math.min(layer.writers, MAX_WRITERS))
  const hints =
    HEADER + 8 + keyBytes + hint + HEADER + looks * (HEADER + keyBytes + HEADER + 4 + hint)
  const watermark = (1 + frames) * (HEADER + keyBytes + HEADER + 8 + '1234567890'.length)
  return {
    operations: frames + cells + frames + width + MEMORY_KEYS.length + cells + 2 + looks,
    /** Both ways, memcached's binary protocol included, TCP's headers not. */
    bytes: appends + adds + gets + memory + deletes + watermark + hints,
    /** Bytes that appends copy: a cell of final size S, on its way there, S/2 a frame. */
    copiedBytes: (frames * ((frames / width) * frameBytes)) / 2,
    cells,
    /** Times that writers read the hint. */
    looks,
  }
}

/**
 * The most frames a layer may have of which a cell of `width` columns takes its part within an
 * item.
 */
export function mostFrames(frameBytes: number, width: number): number {
  let [low, high] = [0, (LIMITS.cellBytes / frameBytes) * width]
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2
    if (largestCell(middle, frameBytes, width) <= LIMITS.cellBytes) low = middle
    else high = middle
  }
  return low
}
