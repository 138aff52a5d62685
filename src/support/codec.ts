/**
 * Turns a row into bytes and back. `encode` writes directly into the open frame, so that nothing is
 * allocated twice on the request path.
 */
export interface Codec<Row> {
  /**
   * Writes `row` into `target` from `offset` and returns the offset behind it, or -1 if there is no
   * room (what it has written by then is overwritten). Must not throw for a row that is merely
   * large.
   */
  encode(row: Row, target: Buffer, offset: number): number
  /**
   * Returns the row that `encode` wrote into exactly these bytes. Throws on bytes that are no row.
   */
  decode(bytes: Buffer): Row
}

/**
 * Returns the default codec: rows as JSON. `append` drops rows that JSON cannot hold (functions,
 * cycles, bigints).
 */
export function jsonCodec<Row>(): Codec<Row> {
  return {
    encode(row, target, offset) {
      const text = JSON.stringify(row)
      if (text === undefined) throw new TypeError('wide-cache: a row that JSON cannot hold')
      // Up to three bytes a UTF-16 unit: count exactly only where it might not fit.
      const room = target.length - offset
      if (text.length * 3 > room && Buffer.byteLength(text) > room) return -1
      return offset + target.write(text, offset)
    },
    decode: (bytes) => JSON.parse(bytes.toString()) as Row,
  }
}
