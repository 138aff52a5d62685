import type { Cache } from '../cache/cache.js'
import type { Grid } from './grid.js'

/**
 * The progress of writers in the drains of one grid, which its collector publishes in the cache
 * after its commit. A writer whose frame lies in a drained layer, but was not found there, learns
 * by it that the cache has lost the frame, and commits the frame itself.
 *
 * It is a hint, never a confirmation. By a wrong or old one a frame may reach SQL twice, and the
 * ledger rejects the second copy. Without one the writer waits for `confirmSeconds`.
 */
export interface DrainHint {
  /**
   * The drained layers above `after` and up to `to` have been read by this collector: it names all
   * writers whose frames it has found there.
   */
  readonly after: number
  readonly to: number
  /** Up to this layer frames may be lost, because a server of the cache has lost its memory. */
  readonly lostTo: number
  /** The sequence number up to which all frames are settled, by the ids of their writers. */
  readonly prefixes: ReadonlyMap<string, number>
}

/** Most writers that a hint names. */
export const MAX_WRITERS = 1_000

/** A hint is renewed with each layer, and a writer looks as often. */
const TTL_SECONDS = 60

const LAYER_BYTES = 6
const WRITER_BYTES = 16
const SEQUENCE_BYTES = 6
const ENTRY_BYTES = WRITER_BYTES + SEQUENCE_BYTES
const HEADER_BYTES = 3 * LAYER_BYTES

/** Returns the size of a hint that names so many writers. */
export function hintBytes(writers: number): number {
  return HEADER_BYTES + writers * ENTRY_BYTES
}

/** A frame that its writer holds, with the layer in which it was placed, if it was. */
interface Held {
  readonly writer: string
  readonly sequence: number
  readonly layer: number | undefined
}

/**
 * Returns the frames that are in no cell any more, nor in SQL, of all that a process holds, in the
 * order of their numbers. Some behind the first may have come. `isSure`: the hint tells of all
 * frames in the layers up to `to`. It does not where the first frame that has not come is in none
 * of these layers: those behind it may have come.
 */
export function missingIn<Frame extends Held>(
  { after, to, lostTo, prefixes }: DrainHint,
  held: Iterable<Frame>,
): { missing: Frame[]; isSure: boolean } {
  const missing: Frame[] = []
  let isSure = true
  /** Whether the first frame behind the prefix is missing, by writers that are named. */
  const begins = new Map<string, boolean>()
  for (const frame of held) {
    const { writer, sequence, layer } = frame
    const prefix = prefixes.get(writer)
    const isDrained = layer !== undefined && layer <= to
    if (prefix === undefined) {
      if (isDrained && (layer > after || layer <= lostTo)) missing.push(frame)
    } else if (sequence > prefix) {
      if (!begins.has(writer)) begins.set(writer, isDrained)
      if (!isDrained) continue
      if (begins.get(writer)) missing.push(frame)
      else isSure = false
    }
  }
  return { missing, isSure }
}

/** Publishes a hint. Resolves when the cache has it, or does not take it. */
export async function publishHint(cache: Cache, grid: Grid, hint: DrainHint): Promise<void> {
  await cache.set(grid.keys.hint, encodeHint(hint), TTL_SECONDS).catch(() => undefined)
}

/** Reads the hint of a grid. `undefined`: there is none, or no answer came. */
export async function readHint(cache: Cache, grid: Grid): Promise<DrainHint | undefined> {
  const bytes = await cache.get(grid.keys.hint).catch(() => undefined)
  return bytes && decodeHint(bytes)
}

function encodeHint({ after, to, lostTo, prefixes }: DrainHint): Buffer {
  const bytes = Buffer.alloc(hintBytes(prefixes.size))
  // A machine boots in 1970, and no layer is older.
  bytes.writeUIntBE(Math.max(0, after), 0, LAYER_BYTES)
  bytes.writeUIntBE(Math.max(0, to), LAYER_BYTES, LAYER_BYTES)
  bytes.writeUIntBE(lostTo, 2 * LAYER_BYTES, LAYER_BYTES)
  let at = HEADER_BYTES
  for (const [writer, prefix] of prefixes) {
    bytes.write(writer, at, 'hex')
    // Of a writer without a settled frame, -1 is the prefix.
    bytes.writeUIntBE(prefix + 1, at + WRITER_BYTES, SEQUENCE_BYTES)
    at += ENTRY_BYTES
  }
  return bytes
}

function decodeHint(bytes: Buffer): DrainHint | undefined {
  const size = bytes.length - HEADER_BYTES
  if (size < 0 || size % ENTRY_BYTES !== 0 || size > MAX_WRITERS * ENTRY_BYTES) return undefined
  const prefixes = new Map<string, number>()
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) {
    prefixes.set(
      bytes.toString('hex', at, at + WRITER_BYTES),
      bytes.readUIntBE(at + WRITER_BYTES, SEQUENCE_BYTES) - 1,
    )
  }
  return {
    after: bytes.readUIntBE(0, LAYER_BYTES),
    to: bytes.readUIntBE(LAYER_BYTES, LAYER_BYTES),
    lostTo: bytes.readUIntBE(2 * LAYER_BYTES, LAYER_BYTES),
    prefixes,
  }
}
