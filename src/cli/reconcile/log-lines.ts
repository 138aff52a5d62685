/** The lines of log files, in order. Files that are packed by gzip are unpacked. */
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** Bytes of a line that is read. A longer one is told as what it is, and not kept. */
const MAX_LINE_BYTES = 65_536
/** Bytes that are read at a time. */
const PIECE_BYTES = 1_048_576

const LF = 0x0a
/** The first bytes of what gzip has packed. */
const GZIP = Buffer.from([0x1f, 0x8b])

/** Calls `take` with each line, in Latin-1 as Node reads requests; `undefined`: it is too long. */
export async function eachLine(
  files: readonly string[],
  take: (line: string | undefined) => void,
): Promise<void> {
  for (const file of files) {
    const source =
      file === '-' ? process.stdin : createReadStream(file, { highWaterMark: PIECE_BYTES })
    await once(source, 'readable')
    const head: unknown = source.read(GZIP.length)
    if (head !== null) source.unshift(head)
    const unpacks = Buffer.isBuffer(head) && head.equals(GZIP)
    const lines = (chunks: AsyncIterable<Buffer>) => linesOf(chunks, take)
    await (unpacks
      ? pipeline(source, createGunzip({ chunkSize: PIECE_BYTES }), lines)
      : pipeline(source, lines))
  }
}

async function linesOf(
  chunks: AsyncIterable<Buffer>,
  take: (line: string | undefined) => void,
): Promise<void> {
  let rest = Buffer.alloc(0)
  let isTooLong = false
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      // A text of its own for each line: a part of a larger one would keep all of that.
      const line =
        rest.length === 0
          ? chunk.toString('latin1', from, end)
          : Buffer.concat([rest, chunk.subarray(from, end)]).toString('latin1')
      if (isTooLong || line.length > MAX_LINE_BYTES) take(undefined)
      else if (line !== '') take(line)
      rest = rest.subarray(0, 0)
      isTooLong = false
      from = end + 1
    }
    rest = Buffer.concat([rest, chunk.subarray(from)])
    if (rest.length > MAX_LINE_BYTES) {
      isTooLong = true
      rest = rest.subarray(0, 0)
    }
  }
  if (isTooLong) take(undefined)
  else if (rest.length > 0) take(rest.toString('latin1'))
}
