/**
 * Set while a reader of cells asks servers whether they live, which it does before it returns: what
 * the cells hold is not read then.
 */
let isSignOfLife = false

/** Calls the reader, whose question is then one for a sign of life. */
export function askingForLife<T>(call: () => T): T {
  isSignOfLife = true
  try {
    return call()
  } finally {
    isSignOfLife = false
  }
}

export function isAskedForLife(): boolean {
  return isSignOfLife
}
