import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'

/**
 * Bytes of the header of a frame. A frame on the wire is a header, then the rows, each behind its
 * length. A cell holds frames one after the other, in any order. Reading a cell skips bytes that
 * are no frame, and loses no frame beside them.
 *
 *      0  4  mark and format version
 *      4 16  writer id
 *     20  6  sequence number
 *     26  6  rows the writer has issued before this frame
 *     32  6  floor: the lowest sequence number the writer still holds
 *     38  6  rows the writer has issued before the floor
 *     44  6  time of the first row of the frame with that number, in milliseconds since the epoch
 *     50  6  rows the writer has dropped so far
 *     56  4  rows in this frame
 *     60  4  bytes of rows
 *     64  1  measure of the rows: its place among those of the kind
 *     65  4  CRC-32 of the kind of the rows, all the above and the rows
 *
 * All numbers are big-endian. A frame whose rows are of another kind has another checksum, so it is
 * no frame for a process that could not decode it.
 */
export const HEADER_BYTES = 69
const MEASURE_AT = 64
const CHECKSUM_AT = 65

/** Bytes before each row: its length. */
export const ROW_LENGTH_BYTES = 4

/**
 * "WCF" and the format version. Bytes in another version are kept in quarantine, and not decoded.
 */
const MARK = Buffer.from([0x57, 0x43, 0x46, 1])

/** Ids, numbers and sums that a frame carries; see the table above. */
export interface FrameHeader {
  /** The writer's id as 32 hexadecimal digits. */
  readonly writer: string
  readonly sequence: number
  readonly issued: number
  readonly floor: number
  readonly floorIssued: number
  readonly floorAt: number
  readonly dropped: number
  readonly rowCount: number
  /** The place of its name among those of the grid. */
  readonly measure: number
}

/** A frame as it came from a cell or an outbox. */
export interface Frame extends FrameHeader {
  /** The whole frame, header and rows. */
  readonly bytes: Buffer
}

/** Returns the starting value of the checksums of frames of this kind. */
export function stampOf(kind: string): number {
  return crc32(kind)
}

/** Writes the header of a frame in front of its rows, which are already in `bytes`. */
export function sealFrame(
  bytes: Buffer,
  header: Omit<FrameHeader, 'writer'>,
  writer: Buffer,
  stamp: number,
): void {
  assert(bytes.length > HEADER_BYTES && writer.length === 16)
  assert(
    header.rowCount > 0 && header.floor <= header.sequence && header.floorIssued <= header.issued,
  )
  MARK.copy(bytes, 0)
  writer.copy(bytes, 4)
  bytes.writeUIntBE(header.sequence, 20, 6)
  bytes.writeUIntBE(header.issued, 26, 6)
  bytes.writeUIntBE(header.floor, 32, 6)
  bytes.writeUIntBE(header.floorIssued, 38, 6)
  bytes.writeUIntBE(header.floorAt, 44, 6)
  bytes.writeUIntBE(header.dropped, 50, 6)
  bytes.writeUInt32BE(header.rowCount, 56)
  bytes.writeUInt32BE(bytes.length - HEADER_BYTES, 60)
  bytes.writeUInt8(header.measure, MEASURE_AT)
  bytes.writeUInt32BE(checksum(bytes, stamp), CHECKSUM_AT)
}

function checksum(bytes: Buffer, stamp: number): number {
  return crc32(bytes.subarray(HEADER_BYTES), crc32(bytes.subarray(0, CHECKSUM_AT), stamp))
}

/**
 * Returns the frame that begins at `offset` of `cell`. `undefined`: no frame begins there that is
 * whole, sound and of the kind.
 */
function frameAt(cell: Buffer, offset: number, stamp: number): Frame | undefined {
  if (offset + HEADER_BYTES > cell.length || cell.compare(MARK, 0, 4, offset, offset + 4) !== 0) {
    return undefined
  }
  const end = offset + HEADER_BYTES + cell.readUInt32BE(offset + 60)
  if (end > cell.length) return undefined
  const bytes = cell.subarray(offset, end)
  if (bytes.readUInt32BE(CHECKSUM_AT) !== checksum(bytes, stamp)) return undefined
  const frame = {
    writer: bytes.toString('hex', 4, 20),
    sequence: bytes.readUIntBE(20, 6),
    issued: bytes.readUIntBE(26, 6),
    floor: bytes.readUIntBE(32, 6),
    floorIssued: bytes.readUIntBE(38, 6),
    floorAt: bytes.readUIntBE(44, 6),
    dropped: bytes.readUIntBE(50, 6),
    rowCount: bytes.readUInt32BE(56),
    measure: bytes.readUInt8(MEASURE_AT),
    bytes,
  }
  return isPossible(frame) ? frame : undefined
}

/** Tells whether a writer can have sealed it. A checksum is no proof: anyone can make one. */
function isPossible({ sequence, issued, floor, floorIssued, rowCount, bytes }: Frame): boolean {
  return (
    rowCount > 0 &&
    rowCount * ROW_LENGTH_BYTES <= bytes.length - HEADER_BYTES &&
    floor <= sequence &&
    floorIssued <= issued
  )
}

/**
 * Reads a cell. Returns its frames of the kind of `stamp` in their order, and the stretches of
 * bytes between them that are no such frames.
 */
export function readCell(cell: Buffer, stamp: number): { frames: Frame[]; unreadable: Buffer[] } {
  const frames: Frame[] = []
  const unreadable: Buffer[] = []
  let offset = 0
  let unreadableFrom = 0
  while (offset < cell.length) {
    const frame = frameAt(cell, offset, stamp)
    if (frame) {
      if (unreadableFrom < offset) unreadable.push(cell.subarray(unreadableFrom, offset))
      frames.push(frame)
      offset += frame.bytes.length
      unreadableFrom = offset
    } else {
      const next = cell.indexOf(MARK, offset + 1)
      offset = next < 0 ? cell.length : next
    }
  }
  if (unreadableFrom < cell.length) unreadable.push(cell.subarray(unreadableFrom))
  return { frames, unreadable }
}

/**
 * Returns the rows of a frame, each as its bytes. @throws RangeError if they do not add up to its
 * row count.
 */
export function rowsOf(frame: Frame): Buffer[] {
  const { bytes, rowCount } = frame
  const rows: Buffer[] = []
  let offset = HEADER_BYTES
  while (offset + ROW_LENGTH_BYTES <= bytes.length && rows.length < rowCount) {
    const start = offset + ROW_LENGTH_BYTES
    offset = start + bytes.readUInt32BE(offset)
    if (offset > bytes.length) break
    rows.push(bytes.subarray(start, offset))
  }
  if (rows.length !== rowCount || offset !== bytes.length) {
    throw new RangeError('a frame whose rows do not add up')
  }
  return rows
}
