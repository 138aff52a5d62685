/** The parts of the benchmark, in the order in which they run. */
export const PARTS: readonly string[] = [
  'loss',
  'faults',
  'overhead',
  'drain',
  'retention',
  'stats',
  'embedded',
  'freshness',
  'caches',
  'databases',
  'relatives',
  'scale',
  'micro',
]

/** The parts whose long runs, with `--full`, the docs quote as well. */
export const FULL_PARTS: readonly string[] = ['faults', 'retention']
