/**
 * The keys of one grid in its database's part of the cache. The grid's id is in each of them, so
 * grids never share a key.
 */
export class GridKeys {
  readonly id: Buffer
  /** The key of the published watermark; see published-watermark.ts. */
  readonly watermark: string
  /** The key of what its collector has found; see drain-hint.ts. */
  readonly hint: string
  readonly #cellStart: string

  constructor(id: Buffer) {
    this.id = id
    const start = `grid:${id.toString('hex')}:`
    this.watermark = `${start}watermark`
    this.hint = `${start}hint`
    this.#cellStart = `${start}cell:`
  }

  cell(layer: number, column: number): string {
    return `${this.#cellStart}${layer}:${column}`
  }
}
