/** Shape of a grid: its columns, and the length of its layers. */
export interface Geometry {
  readonly width: number
  readonly layerSeconds: number
}

/**
 * One grid: its geometry and its names in the cache. Pure arithmetic. A layer is a slice of time, a
 * column a number below `width`, and a cell the cache entry where the two meet. The id is random
 * and known to one database only, so databases that share a cache never share a key.
 */
export class Grid implements Geometry {
  readonly id: Buffer
  readonly width: number
  readonly layerSeconds: number
  /** The cache key of the list of marks; see marks.ts. */
  readonly marksKey: string
  /** The cache key of the published watermark; see published-watermark.ts. */
  readonly watermarkKey: string
  readonly #cellKeyStart: string

  constructor(id: Buffer, { width, layerSeconds }: Geometry) {
    this.id = id
    this.width = width
    this.layerSeconds = layerSeconds
    const start = keyStart(id)
    this.marksKey = `${start}marks`
    this.watermarkKey = `${start}watermark`
    this.#cellKeyStart = `${start}cell:`
  }

  /** Returns the layer of a moment in milliseconds since the Unix epoch. */
  layerAt(ms: number): number {
    return Math.floor(ms / (this.layerSeconds * 1000))
  }

  /** Returns the end of a layer, in milliseconds since the Unix epoch. */
  endOf(layer: number): number {
    return (layer + 1) * this.layerSeconds * 1000
  }

  /** Returns the number of whole layers that fit into `seconds`. */
  layersIn(seconds: number): number {
    return Math.floor(seconds / this.layerSeconds)
  }

  /** Returns the cache key of a cell. */
  cellKey(layer: number, column: number): string {
    return `${this.#cellKeyStart}${layer}:${column}`
  }
}

/** Returns the start of all cache keys of the grid with this id. */
export function keyStart(id: Buffer): string {
  return `wide-cache:${id.toString('hex')}:`
}
