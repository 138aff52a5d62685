/** Orders of contenders: another one each round, so that none is always first. */

/** `items`, beginning with the one at `round`, modulo their number. */
export function rotated<T>(items: readonly T[], round: number): T[] {
  const first = round % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}
