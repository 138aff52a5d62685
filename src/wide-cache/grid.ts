import { GridKeys } from './grid-keys.js'
import { Layers } from './layers.js'

/** Number of columns of a grid, and length of its layers. */
export interface Geometry {
  readonly width: number
  readonly layerSeconds: number
}

/**
 * One grid. A layer is a slice of time, a column a number below `width`, and a cell the cache entry
 * where the two meet.
 */
export class Grid implements Geometry {
  readonly id: Buffer
  readonly width: number
  readonly layerSeconds: number
  readonly layers: Layers
  readonly keys: GridKeys

  constructor(id: Buffer, { width, layerSeconds }: Geometry) {
    this.id = id
    this.width = width
    this.layerSeconds = layerSeconds
    this.layers = new Layers(layerSeconds)
    this.keys = new GridKeys(id)
  }
}
