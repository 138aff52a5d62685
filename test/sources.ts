/** The files under `src/`: which ones are built, and which ones only tests use. */

/** Tells whether only tests use `file`: a test, a suite of several adapters, or a fixture. */
export function isForTests(file: string): boolean {
  return /\.(?:test|suite|fixture)\.ts$/.test(file)
}

/** Tells whether `file` is a source of the package. */
export function isSource(file: string): boolean {
  return /\.[jt]s$/.test(file) && !file.endsWith('.d.ts') && !isForTests(file)
}

/** Tells whether a source is in the package by itself. The others are a part of a script. */
export function isBuilt(file: string): boolean {
  return isSource(file) && !/dashboard\/assets\/(?!(?:dashboard|operation|overview)\.js)/.test(file)
}
