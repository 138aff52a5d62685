/** Who judges a mutant: programs that must fail when it runs. The quick ones come first, and the first failure ends it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { join } from 'node:path'

export interface Judge {
  readonly name: string
  /** Arguments of `node --import tsx`, run in the workbench's folder. */
  readonly args: readonly string[]
}

/** Tests whose names say neither are on SQLite and in memory. Node 20 also asks for the names of the groups, which must not match. */
const WITHOUT_SERVERS = '^(?!<root>$|a .* on$|.*(MariaDB|memcached))'
const WITH_SERVERS = 'MariaDB|memcached'
/** A mutant that fills the memory must not take the machine's. */
const HEAP_MB = 1_024

/** The tests in `files` whose names match `pattern`. */
export const tests = (name: string, pattern: string, ...files: readonly string[]): Judge => ({
  name,
  args: [`--test-name-pattern=${pattern}`, `--test-reporter=${reporter}`, 'test/mutation/tests.ts', ...files],
})
const reporter = pathToFileURL(fileURLToPath(new URL('./first-failure.js', import.meta.url))).href
const simulation = (of: string, seeds: number): Judge => ({ name: `${seeds} seeds of the simulation`, args: ['test/mutation/seeds.ts', of, String(seeds)] })

const COUNTERS = ['src/counters/global-counter.test.ts', 'src/counters/sharded-counter.test.ts']
const MAPS = ['src/collision-free-map/collision-free-map.test.ts', 'src/collision-free-map/export-queue.test.ts']
const HEART = ['batches', 'cached-read', 'frame', 'grid', 'ledger', 'options', 'outbox', 'schedule', 'wide-cache'].map((file) => `src/wide-cache/${file}.test.ts`)

export const JUDGES: Readonly<Record<string, readonly Judge[]>> = {
  counters: [
    tests('unit tests', WITHOUT_SERVERS, ...COUNTERS),
    tests('unit tests on MariaDB and memcached', WITH_SERVERS, ...COUNTERS),
    tests('processes on servers that fail', '.', 'src/counters/processes.test.ts'),
  ],
  sequence: [
    tests('unit tests', WITHOUT_SERVERS, 'src/sequence/sequence.test.ts'),
    simulation('sequence', 150),
    tests('unit tests on MariaDB and memcached', WITH_SERVERS, 'src/sequence/sequence.test.ts'),
  ],
  'collision-free-map': [
    tests('unit tests', WITHOUT_SERVERS, ...MAPS),
    tests('unit tests on MariaDB', WITH_SERVERS, ...MAPS),
  ],
  'wide-cache': [
    tests('unit tests', '.', ...HEART),
    simulation('heart', 400),
  ],
}

export interface Verdict {
  readonly found: boolean
  /** What the judge said last, or that its time was over. */
  readonly says: string
  readonly ms: number
}

/** Runs a judge in `folder`. One that takes longer than `timeoutMs` has found the mutant. */
export async function judge({ args }: Judge, folder: string, timeoutMs: number): Promise<Verdict> {
  const began = performance.now()
  // A process group of its own, so that what the tests have started ends with it.
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, '--import', 'tsx', ...args], {
    cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: join(folder, 'tmp'), NODE_TEST_CONTEXT: undefined },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => { said = (said + data.toString()).slice(-4_000) })
  let late = false
  const timer = setTimeout(() => {
    late = true
    endGroup(child)
  }, timeoutMs)
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  clearTimeout(timer)
  endGroup(child)
  const says = late ? `not done after ${Math.round(timeoutMs / 1000)} s` : lastLine(said)
  return { found: code !== 0, says, ms: performance.now() - began }
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
