/** One replacement in the protocol's text. */
export interface Replacement {
  /** Path from `src/wide-cache`. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

/** No bug: batches so small that a simulated layer makes several. */
export const SMALL_BATCHES: Replacement = {
  file: 'ledger/frame-batches.ts',
  find: 'const BATCH_FRAMES = 2_000',
  replace: 'const BATCH_FRAMES = 2',
}

/**
 * Bugs of the kind that a change could bring, each as one replacement in the protocol's text, and
 * what must tell.
 */
export interface PlantedBug extends Replacement {
  readonly name: string
  /** A further change, so that the bug can show. */
  readonly with?: Replacement
  /** The simulation's message when it finds the bug. */
  readonly told: RegExp
  /** A seed that finds it, where the first one is late. It is tried before all others. */
  readonly seed?: number
}

/** Matches what any of `patterns` matches. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'))
}
