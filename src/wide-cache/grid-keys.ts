/**
 * The keys of one grid in the cache. The id is unique and known to one database only, so databases
 * that share a cache never share a key.
 */
export class GridKeys {
  readonly id: Buffer
  /** Start of all keys. */
  readonly start: string
  /** The key of the list of marks; see marks.ts. */
  readonly marks: string
  /** The key of the published watermark; see published-watermark.ts. */
  readonly watermark: string
  readonly #cellStart: string

  constructor(id: Buffer) {
    this.id = id
    this.start = `wide-cache:${id.toString('hex')}:`
    this.marks = `${this.start}marks`
    this.watermark = `${this.start}watermark`
    this.#cellStart = `${this.start}cell:`
  }

  cell(layer: number, column: number): string {
    return `${this.#cellStart}${layer}:${column}`
  }
}
