/** Increments of several callers that are counted as one. */

/** Addition of one caller, and the value that it comes to. */
export interface Addition<Value> {
  readonly delta: number
  value: Value | undefined
}

export function sumOf(items: readonly Addition<unknown>[]): number {
  return items.reduce((total, { delta }) => total + delta, 0)
}

/** Gives each caller, in their order, its own number, from the value that the sum came to. */
export function spread(items: readonly Addition<number | string>[], value: number): void {
  let left = value
  for (const item of items.toReversed()) {
    item.value = left
    left -= item.delta
  }
}
