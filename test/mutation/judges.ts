/**
 * The judges of the mutants of each folder. The quick ones come first, and the first failure ends a
 * judgement.
 */
import type { Judge } from './judge.js'
import { filesOf, lawsOf, testsNear } from './near.js'
import { IS_IN_BROWSER } from './workbench.js'

/**
 * Tests whose names say neither are on SQLite and in memory. Node 20 also asks for the names of the
 * groups, which must not match.
 */
const WITHOUT_SERVERS = '^(?!<root>$|a .* on$|.*(MariaDB|memcached|PostgreSQL|Redis))'
const WITH_SERVERS = 'MariaDB|memcached|PostgreSQL|Redis'
const REPORTER = new URL('./first-failure.js', import.meta.url).href

/** The tests in `files` whose names match `pattern`. */
export const tests = (
  name: string,
  pattern: string,
  files: readonly string[],
  atOnce = 1,
): Judge => ({
  name,
  args: [
    `--test-name-pattern=${pattern}`,
    `--test-reporter=${REPORTER}`,
    'test/mutation/tests.ts',
    String(atOnce),
    ...files,
  ],
})
/** Tests that call the sources in their own thread: for each mutant those that call it. */
export const choice = (
  name: string,
  pattern: string,
  files: readonly string[],
  atOnce?: number,
): Judge => ({
  ...tests(name, pattern, files, atOnce),
  only: (names) => tests(name, `^(?:${names.map(escaped).join('|')})$`, files, atOnce),
})
const units = (files: readonly string[], atOnce?: number): Judge =>
  choice('unit tests', WITHOUT_SERVERS, files, atOnce)
const onServers = (files: readonly string[], atOnce?: number): Judge =>
  choice('unit tests on servers', WITH_SERVERS, files, atOnce)
const slow = (name: string, files: readonly string[]): Judge => tests(name, '.', files)
const simulation = (of: string, from: number, seeds: number): Judge => ({
  name: `${seeds} seeds of the simulation`,
  args: ['test/mutation/seeds.ts', of, String(from), String(seeds)],
})

function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** Tests that mostly wait, and do not mind each other. */
const TOGETHER = 4

const COUNTERS = [...filesOf('src/connections'), ...filesOf('src/counters', 'processes.test.ts')]
const SEQUENCE = filesOf('src/sequence')
const MAPS = ['collision-free-map', 'export-queue', 'buckets'].flatMap((folder) =>
  filesOf(`src/${folder}`),
)
const WIDE_CACHE = filesOf('src/wide-cache')
const HITS = filesOf('src/hits')
const CACHE = filesOf('src/cache')
/** Half of them wait, up to 20 s each. */
const FAULTS = ['src/database/mysql/faults.test.ts']
const DATABASE = filesOf('src/database', 'mysql/faults.test.ts')
const CLI = filesOf('src/cli', 'main.test.ts')
/** Each of them takes as long as ten others. */
const SLOW_OF_ACTIVITY = ['certificate', 'sums', 'whole-way'].map(
  (name) => `src/activity/${name}.test.ts`,
)
/** Tests of pages. They take half a minute each. */
const PAGE_TESTS = ['src/activity/widget.test.ts', 'src/dashboard/page.test.ts']
const ACTIVITY = filesOf('src/activity').filter(
  (file) => !SLOW_OF_ACTIVITY.includes(file) && !PAGE_TESTS.includes(file),
)
const REQUESTS = [
  ...['middleware', 'mount', 'page', 'page-views', 'record-request', 'router'].map(
    (name) => `src/activity/${name}.test.ts`,
  ),
  ...['middleware', 'router'].map((name) => `src/hits/${name}.test.ts`),
]
const RECORDS = [
  'src/activity/activity.test.ts',
  'src/activity/visit.test.ts',
  'src/hits/hits.test.ts',
]
const CLOSED = ['test/closed.test.ts']
const LOGS = ['replay', 'web-server-log'].map((name) => `test/page-views/${name}.test.ts`)

/** The counters use all of the connections. */
const COUNTER_JUDGES = [
  units(COUNTERS, TOGETHER),
  onServers(COUNTERS, TOGETHER),
  slow('processes on servers that fail', ['src/counters/processes.test.ts']),
  slow('tests of what is closed', CLOSED),
]

/** The map and the export queue share their buckets, so the tests of both judge all three. */
const MAP_JUDGES = [units(MAPS, TOGETHER), onServers(MAPS, TOGETHER)]

/** Adapters that the conformance suites run against. */
const SUITES = ['src/cache/memory.test.ts', 'src/database/sqlite/sqlite.test.ts']
const SUITES_ON_SERVERS = [
  ...['memcached', 'redis'].map((name) => `src/cache/${name}/${name}.test.ts`),
  ...['mysql', 'postgres'].map((name) => `src/database/${name}/${name}.test.ts`),
]

/** By folder below `src`, and by the other targets of `workbench.ts`. */
export const JUDGES: Readonly<Record<string, readonly Judge[]>> = {
  activity: [
    units(ACTIVITY),
    tests('slow unit tests', WITHOUT_SERVERS, SLOW_OF_ACTIVITY, TOGETHER),
    onServers([...ACTIVITY, ...SLOW_OF_ACTIVITY]),
  ],
  hits: [
    units(HITS, TOGETHER),
    onServers(HITS, TOGETHER),
    slow('processes on real servers', ['test/hits/exact-counts.test.ts']),
  ],
  visitors: [
    units([...filesOf('src/visitors'), 'src/activity/visit.test.ts', ...REQUESTS]),
    units(RECORDS),
  ],
  'page-views': [units(REQUESTS), units([...RECORDS, ...filesOf('src/dashboard', 'page.test.ts')])],
  dashboard: [
    units(filesOf('src/dashboard', 'page.test.ts')),
    slow('pages in Chromium', ['src/dashboard/page.test.ts']),
  ],
  // Commands run in processes of their own.
  cli: [
    tests('unit tests', WITHOUT_SERVERS, CLI),
    tests('unit tests on MariaDB', WITH_SERVERS, CLI),
    slow('commands', ['src/cli/main.test.ts']),
  ],
  counters: COUNTER_JUDGES,
  connections: COUNTER_JUDGES,
  sequence: [
    units(SEQUENCE, TOGETHER),
    simulation('sequence', 0, 150),
    onServers(SEQUENCE, TOGETHER),
  ],
  'collision-free-map': MAP_JUDGES,
  'export-queue': MAP_JUDGES,
  buckets: [
    ...MAP_JUDGES,
    choice("transactions of the site's own", '.', ['test/transactions/transactions.test.ts']),
  ],
  'wide-cache': [
    simulation('protocol', 0, 50),
    units(WIDE_CACHE, TOGETHER),
    simulation('protocol', 50, 550),
    onServers(WIDE_CACHE, TOGETHER),
  ],
  metrics: [
    units([
      ...filesOf('src/metrics'),
      'src/buckets/bucket-metrics.test.ts',
      'src/wide-cache/operations/operations.test.ts',
    ]),
    slow('tests of the page of metrics', ['test/docs/metrics.test.ts']),
  ],
  cache: [units(CACHE), onServers(CACHE)],
  redis: [
    units(filesOf('src/cache/redis')),
    tests('tests of Redis', 'Redis', [...CACHE, ...CLI, ...SEQUENCE], TOGETHER),
  ],
  // Tests of a server are named after MySQL, or what it does.
  database: [
    units(DATABASE),
    choice('tests of faults', '.', FAULTS, TOGETHER),
    units([...MAPS, ...RECORDS], TOGETHER),
  ],
  postgres: [
    units(filesOf('src/database/postgres')),
    tests('tests of PostgreSQL', 'PostgreSQL', [...DATABASE, ...WIDE_CACHE, ...MAPS, ...HITS]),
    tests('tests of PostgreSQL in activity', 'PostgreSQL', [...ACTIVITY, ...SLOW_OF_ACTIVITY]),
  ],
  testing: [
    units(filesOf('src/testing')),
    units([...SUITES, 'src/connections/forwarding.test.ts']),
    choice('suites on servers', '.', SUITES_ON_SERVERS, TOGETHER),
  ],
  browser: [],
  support: [
    units([...filesOf('src/support'), ...filesOf('src/connections'), ...REQUESTS]),
    units([...filesOf('src/dashboard', 'page.test.ts'), ...CLI]),
    units([...RECORDS, ...COUNTERS, ...SEQUENCE], TOGETHER),
    slow('tests of what is closed', CLOSED),
  ],
}

/** Too slow to judge each mutant of a source that they import. */
const NOT_NEAR = [
  ...PAGE_TESTS,
  ...SLOW_OF_ACTIVITY,
  'src/counters/processes.test.ts',
  'src/cli/main.test.ts',
  'src/database/mysql/faults.test.ts',
  'src/cache/memcached/link.test.ts',
  'src/cache/memcached/server.test.ts',
  'src/hits/hits.test.ts',
  'src/collision-free-map/collision-free-map.test.ts',
  'src/counters/global-counter.test.ts',
  'src/counters/sharded-counter.test.ts',
]
/** Folders whose tests do not mind each other. */
const AT_ONCE = [
  'buckets',
  'collision-free-map',
  'connections',
  'counters',
  'export-queue',
  'hits',
  'sequence',
  'wide-cache',
]
/** Sources that nothing but a server shows at work. */
const CLIENTS = /^(?:database\/(?:mysql|postgres)|cache\/(?:memcached|redis))\//
/** Sources of what web servers log, which a test of real ones shows at work. */
const LOGGED = /^(?:cli\/reconcile|page-views)\//

/** The page that shows each source that a browser runs. */
const PAGES: Readonly<Record<string, string>> = {
  'activity/widget.js': 'src/activity/widget.test.ts',
  'dashboard/assets/overview.js': 'src/activity/overview.test.ts',
  'activity/seen.js': 'src/activity/seen.test.ts',
}

/** The folder's judges, and before them the tests near the source, which take some seconds. */
export function judgesOf(source: string, part = source.split('/')[0]!): readonly Judge[] {
  const folder = source.split('/')[0]!
  if (IS_IN_BROWSER.test(source)) {
    const page = PAGES[source] ?? 'src/dashboard/page.test.ts'
    const inNode = testsNear(source, NOT_NEAR).filter((file) => file !== page)
    const pages = slow('pages in Chromium', [page])
    return inNode.length > 0 ? [slow('tests near it', inNode), pages] : [pages]
  }
  const near = testsNear(source, NOT_NEAR)
  const ofFolder = folder === 'cli' ? tests : choice
  const atOnce = AT_ONCE.includes(folder) ? TOGETHER : 1
  const orders = lawsOf(folder)
  const nearest: Judge[] = [
    { ...ofFolder('tests near it', WITHOUT_SERVERS, near, atOnce), mayBeEmpty: true },
    { ...ofFolder('tests near it, on servers', WITH_SERVERS, near, atOnce), mayBeEmpty: true },
  ].slice(0, near.length === 0 ? 0 : CLIENTS.test(source) ? 2 : 1)
  const laws = orders.length > 0 ? [choice('laws', '.', orders)] : []
  const logs = LOGGED.test(source) ? [choice('logs of web servers', '.', LOGS)] : []
  return [...nearest, ...laws, ...JUDGES[part]!, ...logs]
}
