/**
 * Returns the first index of an ascending list of `length` entries that is not before what is
 * looked for; `length`: all are.
 */
export function firstIndex(length: number, isBefore: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
