/**
 * The keys of one grid in the cache. The id is unique and known to one database only, so databases
 * that share a cache never share a key.
 */
export class GridKeys {
  readonly id: Buffer
  /** The key of the published watermark; see published-watermark.ts. */
  readonly watermark: string
  readonly #cellStart: string

  constructor(id: Buffer) {
    this.id = id
    const start = `grid:${id.toString('hex')}:`
    this.watermark = `${start}watermark`
    this.#cellStart = `${start}cell:`
  }

  cell(layer: number, column: number): string {
    return `${this.#cellStart}${layer}:${column}`
  }
}
