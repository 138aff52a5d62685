/**
 * Layers of time: slices of equal length, numbered from the Unix epoch. Pure arithmetic; moments
 * are in milliseconds since the epoch.
 */
export class Layers {
  /** Length of a layer. */
  readonly seconds: number

  constructor(seconds: number) {
    this.seconds = seconds
  }

  /** Returns the layer of a moment. */
  at(ms: number): number {
    return Math.floor(ms / (this.seconds * 1000))
  }

  /** Returns the end of a layer, which is the start of the next one. */
  endOf(layer: number): number {
    return (layer + 1) * this.seconds * 1000
  }

  /** Returns the number of whole layers that fit into `seconds`. */
  countIn(seconds: number): number {
    return Math.floor(seconds / this.seconds)
  }
}
