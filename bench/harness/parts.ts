/** The parts of the benchmark, in the order in which they run. */
export const PARTS: readonly string[] = [
  'article',
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

/**
 * The forms of the results of parts that have measured something else before; 1 for others. A table
 * is made of results of the newest form.
 */
const FORMS: Readonly<Record<string, number>> = {
  loss: 2,
  faults: 2,
  overhead: 4,
  drain: 2,
  databases: 2,
  relatives: 2,
}

export function formOf(part: string): number {
  return FORMS[part] ?? 1
}

/** What is measured: a result says nothing of a release in which any of it has changed. */
export function sourcesOf(part: string): string[] {
  const own = [`bench/parts/${part}.ts`, `bench/${part}`, 'bench/peers']
  const more = part === 'relatives' ? RELATIVES : []
  return [...[...CORE, ...more].map((folder) => `src/${folder}`), 'sql', ...own]
}

const CORE = [
  'activity',
  'cache',
  'connections',
  'database',
  'page-views',
  'support',
  'visitors',
  'wide-cache',
]
const RELATIVES = ['buckets', 'collision-free-map', 'counters', 'export-queue', 'hits', 'sequence']

/** The parts whose long runs, with `--full`, the docs quote as well. */
export const FULL_PARTS: readonly string[] = ['faults', 'retention']
