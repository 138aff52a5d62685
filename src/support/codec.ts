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
