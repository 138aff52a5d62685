import type { Cache } from '../cache/cache.js'
import type { Grid } from './grid.js'

/**
 * How far the frames of writers have come with the drains of one grid, as its collector publishes
 * it in the cache after its commit. A writer whose frame lies in a drained layer and has not come
 * knows by it that the cache has lost the frame, and commits it itself.
 *
 * It is a hint, never a confirmation: a wrong or old one makes a frame be committed twice, and the
 * ledger takes it once; where there is none, the writer waits for `confirmSeconds`.
 */
export interface DrainHint {
  /**
   * The drained layers above `after` and up to `to` have been read by this collector: it names all
   * writers of whom it has found a frame there.
   */
  readonly after: number
  readonly to: number
  /** The sequence number up to which all frames are settled, by the ids of their writers. */
  readonly prefixes: ReadonlyMap<string, number>
}

/** Most writers that a hint names. */
export const MAX_WRITERS = 1_000

/** A hint is renewed with each layer. A writer looks each second. */
const TTL_SECONDS = 60

const LAYER_BYTES = 6
const WRITER_BYTES = 16
const SEQUENCE_BYTES = 6
const ENTRY_BYTES = WRITER_BYTES + SEQUENCE_BYTES
const HEADER_BYTES = 2 * LAYER_BYTES

/**
 * Tells whether a frame that was placed in `layer` is in no cell any more, nor in SQL. Also `true`
 * for a frame that has come while an earlier one of its writer has not.
 */
export function isMissing(
  { after, to, prefixes }: DrainHint,
  { writer, sequence }: { readonly writer: string; readonly sequence: number },
  layer: number,
): boolean {
  if (layer > to) return false
  const prefix = prefixes.get(writer)
  return prefix === undefined ? layer > after : sequence > prefix
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

function encodeHint({ after, to, prefixes }: DrainHint): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + prefixes.size * ENTRY_BYTES)
  bytes.writeUIntBE(after, 0, LAYER_BYTES)
  bytes.writeUIntBE(to, LAYER_BYTES, LAYER_BYTES)
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
    prefixes,
  }
}
