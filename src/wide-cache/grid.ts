/**
 * The grid's geometry and its names in the cache: pure arithmetic. A layer is a slice of time, a column a
 * number below `width`, and a cell the cache entry where the two meet.
 */
export class Grid {
  readonly name: string
  readonly width: number
  readonly layerSeconds: number
  readonly #cellPrefix: string
  readonly #confirmedPrefix: string

  constructor(name: string, width: number, layerSeconds: number) {
    this.name = name
    this.width = width
    this.layerSeconds = layerSeconds
    this.#cellPrefix = `wide-cache:${name}:cell:`
    this.#confirmedPrefix = `wide-cache:${name}:prefix:`
  }

  /** The layer of a moment in milliseconds since the Unix epoch. */
  layerAt(ms: number): number {
    return Math.floor(ms / (this.layerSeconds * 1000))
  }

  /** How many whole layers fit into `seconds`. */
  layersIn(seconds: number): number {
    return Math.floor(seconds / this.layerSeconds)
  }

  /** The cache key of a cell. */
  cellKey(layer: number, column: number): string {
    return `${this.#cellPrefix}${layer}:${column}`
  }

  /** The cache key under which collectors publish a writer's prefix. */
  prefixKey(writer: string): string {
    return this.#confirmedPrefix + writer
  }
}
