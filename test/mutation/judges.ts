/**
 * The judges of a mutant: programs that must fail when it runs. The quick ones come first, and the
 * first failure ends it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

export interface Judge {
  readonly name: string
  /** Arguments of Node for a program in TypeScript, run in the workbench's folder. */
  readonly args: readonly string[]
}

/**
 * Tests whose names say neither are on SQLite and in memory. Node 20 also asks for the names of the
 * groups, which must not match.
 */
const WITHOUT_SERVERS = '^(?!<root>$|a .* on$|.*(MariaDB|memcached))'
const WITH_SERVERS = 'MariaDB|memcached'
/** A mutant that fills the memory must not take the machine's. */
const HEAP_MB = 1_024
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REPORTER = new URL('./first-failure.js', import.meta.url).href

/** The tests in `files` whose names match `pattern`. */
export const tests = (name: string, pattern: string, ...files: readonly string[]): Judge => ({
  name,
  args: [
    `--test-name-pattern=${pattern}`,
    `--test-reporter=${REPORTER}`,
    'test/mutation/tests.ts',
    ...files,
  ],
})
const simulation = (of: string, from: number, seeds: number): Judge => ({
  name: `${seeds} seeds of the simulation`,
  args: ['test/mutation/seeds.ts', of, String(from), String(seeds)],
})

/** The test files of a folder, but for `others`, which are too slow to judge each mutant. */
function filesOf(folder: string, ...others: readonly string[]): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .sort()
    .filter((file) => file.endsWith('.test.ts') && !others.includes(file))
    .map((file) => `${folder}/${file}`)
}

const COUNTERS = [...filesOf('src/connections'), ...filesOf('src/counters', 'processes.test.ts')]
const SEQUENCE = filesOf('src/sequence')
const MAPS = ['collision-free-map', 'export-queue', 'buckets'].flatMap((folder) =>
  filesOf(`src/${folder}`),
)
const HEART = filesOf('src/wide-cache')

/** The counters use all of the connections. */
const COUNTER_JUDGES = [
  tests('unit tests', WITHOUT_SERVERS, ...COUNTERS),
  tests('unit tests on MariaDB and memcached', WITH_SERVERS, ...COUNTERS),
  tests('processes on servers that fail', '.', 'src/counters/processes.test.ts'),
]

/** The map and the export queue share their buckets, so the tests of both judge all three. */
const MAP_JUDGES = [
  tests('unit tests', WITHOUT_SERVERS, ...MAPS),
  tests('unit tests on MariaDB', WITH_SERVERS, ...MAPS),
]

export const JUDGES: Readonly<Record<string, readonly Judge[]>> = {
  counters: COUNTER_JUDGES,
  connections: COUNTER_JUDGES,
  sequence: [
    tests('unit tests', WITHOUT_SERVERS, ...SEQUENCE),
    simulation('sequence', 0, 150),
    tests('unit tests on MariaDB and memcached', WITH_SERVERS, ...SEQUENCE),
  ],
  'collision-free-map': MAP_JUDGES,
  'export-queue': MAP_JUDGES,
  buckets: MAP_JUDGES,
  'wide-cache': [
    simulation('heart', 0, 50),
    tests('unit tests', WITHOUT_SERVERS, ...HEART),
    simulation('heart', 50, 550),
    tests('unit tests on MariaDB', WITH_SERVERS, ...HEART),
  ],
}

export interface Verdict {
  readonly found: boolean
  /** The last output of the judge, or a note that its time was over. */
  readonly says: string
  readonly late: boolean
  readonly ms: number
}

/** Runs a judge in `folder`. One that takes longer than `timeoutMs` has found the mutant. */
export async function judge({ args }: Judge, folder: string, timeoutMs: number): Promise<Verdict> {
  const began = performance.now()
  // A process group of its own, so that what the tests have started ends with it.
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, ...TYPESCRIPT, ...args],
    {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: join(folder, 'tmp'), NODE_TEST_CONTEXT: undefined },
    },
  )
  const end = (): void => endGroup(child)
  process.once('exit', end)
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (data: Buffer) => {
      said[name] = (said[name] + data.toString()).slice(-4_000)
    })
  }
  let late = false
  const timer = setTimeout(() => {
    late = true
    end()
  }, timeoutMs)
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  clearTimeout(timer)
  process.off('exit', end)
  end()
  const says = late
    ? `not done after ${Math.round(timeoutMs / 1000)} s`
    : lastLine(said.stdout) || lastLine(said.stderr)
  return { found: code !== 0, says, late, ms: performance.now() - began }
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
