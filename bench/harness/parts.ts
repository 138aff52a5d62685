/** The parts of the benchmark, in the order in which they run. */
export const PARTS: readonly string[] = [
  'loss',
  'faults',
  'overhead',
  'drain',
  'stats',
  'embedded',
  'freshness',
  'relatives',
  'scale',
  'micro',
]
