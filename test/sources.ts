/** The files under `src/`: which ones are built, and which ones only tests use. */

/** Tells whether only tests use `file`: a test, a suite of several adapters, or a fixture. */
export function isForTests(file: string): boolean {
  return /\.(?:test|suite|fixture)\.ts$/.test(file)
}

/** Tells whether `file` is a source of the package. */
export function isSource(file: string): boolean {
  return /\.[jt]s$/.test(file) && !file.endsWith('.d.ts') && !isForTests(file)
}

/** Scripts of pages that are files in the package. The others are a part of one. */
const SCRIPT = /\/(?:alarm|dashboard|days|empty|item|operation|overview|table|times|tip)\.js$/

/** Tells whether a source is in the package by itself. */
export function isBuilt(file: string): boolean {
  return isSource(file) && (!file.includes('dashboard/assets/') || SCRIPT.test(file))
}
