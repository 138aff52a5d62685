/**
 * Runs the tests: `npm test -- [--all | --fast | --mysql] [part of a file's path …]`. Installs the
 * server programs that the files need, starts one MariaDB, one PostgreSQL and one memcached for all
 * files if they ask for them, and runs the files in processes, several at a time, since many wait
 * more than they work. Small ones share a process (see `groups.ts`). `--all` makes the tests that
 * scale (see `scale.ts`) as large as they get. `--fast` runs only what needs no server, browser or
 * build. `--mysql` runs only what touches MySQL, on a real one (see `on-mysql.ts`).
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { SEED, SEED_VARIABLE } from './commit-seed.js'
import { grouped } from './groups.js'
import { needsOf } from './needs.js'
import { onMysql, prepareMysql, runningMysql } from './on-mysql.js'
import { ALL_VARIABLE } from './scale.js'
import { ensureBinaries } from './servers/binaries.js'
import { initialisedData, MARIADB_DATA_VARIABLE, startMariadb } from './servers/mariadb.js'
import { startMemcached } from './servers/memcached.js'
import { keepFilesInMemory } from './servers/memory-folder.js'
import {
  initialisedPostgresData,
  MANY_DATABASES,
  POSTGRES_DATA_VARIABLE,
  startPostgres,
} from './servers/postgres.js'
import { MEMCACHED_VARIABLE, MYSQL_VARIABLE, POSTGRES_VARIABLE } from './servers/shared.js'
import { removeOld } from '../scripts/typescript/compiled.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Ends a file that hangs. On a busy machine some files take half an hour. */
const FILE_TIMEOUT_MS = 3_600_000
const FILES_AT_ONCE = 6
const SLOWEST_SHOWN = 20

/**
 * Begin first, so that no long file is left alone at the end: those that mostly wait and those that
 * compute by turns, since either sort alone leaves the processor idle or overloads it. A folder is
 * a group (see `groups.ts`). The end of each run prints which took longest.
 */
const LONGEST = [
  'src/activity',
  'test/simulation/simulation.test.ts',
  'src/database',
  'test/real-servers/exactly-once.test.ts',
  'src/cache',
  'test/orders',
  'src/cli',
  'test/docs/docs.test.ts',
  'test/real-servers/direct-commits.test.ts',
  'test/chaos/chaos.test.ts',
  'test/package/package.test.ts',
  'test/simulation/planted-bugs.test.ts',
  'test/real-servers/one-cache-per-machine.test.ts',
  'src/counters',
  'test/real-servers/small-caches.test.ts',
  'src/activity/seen.test.ts',
  'src/cli/main.test.ts',
]

/**
 * Run by `--all`, and by name: three servers of a cluster take the machine from all others, few
 * machines have a Prometheus or a PgBouncer, a backup is restored in a minute, and the example of
 * view counts takes much of the processor. The chaos combines faults that other tests have alone.
 * The test of `npm run mutate` tests a tool. Parts of the benchmark measure, if briefly.
 */
const ONLY_OF_ALL = [
  'bench/parts.test.ts',
  'test/chaos/chaos.test.ts',
  'test/mutation/mutation.test.ts',
  'test/real-servers/galera.test.ts',
  'test/real-servers/group-replication.test.ts',
  'test/real-servers/backup.test.ts',
  'test/real-servers/pgbouncer.test.ts',
  'test/deploy/prometheus.test.ts',
  'test/examples/view-counts.test.ts',
]

/** Half a day from UTC, with other digits: shows what depends on the machine's zone or language. */
const ELSEWHERE = { TZ: 'Pacific/Apia', LC_ALL: 'ar_EG.UTF-8' }

/** Folders of tests that use `dist/`. */
const USES_BUILD = /^(?:test\/(?:docs|examples|forum|package)\/|bench\/parts)/

const args = process.argv.slice(2)
const [all, fast] = [args.includes('--all'), args.includes('--fast')]
const mysql = args.includes('--mysql')
const running = mysql ? runningMysql() : undefined
const parts = args.filter((arg) => !arg.startsWith('--'))
const files = mysql ? orExit(() => onMysql(testFiles(parts))) : testFiles(parts)
if (files.length === 0) {
  console.error(`No test file's path has any of: ${parts.join(', ')}`)
  process.exit(1)
}
const { programs, shared } = needsOf(files)
orExit(() => ensureBinaries([...programs].filter((one) => one !== 'mariadb' || !running)))

removeOld()
for (const file of [...LONGEST, ...ONLY_OF_ALL]) {
  assert(existsSync(join(ROOT, file)), `there is no ${file}`)
}

keepFilesInMemory()
Object.assign(process.env, ELSEWHERE)
if (programs.has('mariadb') && !running) {
  process.env[MARIADB_DATA_VARIABLE] = await initialisedData()
}
if (programs.has('postgres')) process.env[POSTGRES_DATA_VARIABLE] = await initialisedPostgresData()
const [mariadb, memcached, postgres] = await Promise.all([
  shared.has('mariadb') && !running ? startMariadb() : undefined,
  shared.has('memcached') ? startMemcached() : undefined,
  shared.has('postgres') ? startPostgres(MANY_DATABASES) : undefined,
])
// The files run in child processes, which inherit the environment and this process's --import.
process.execArgv.push('--import', new URL('./track-tests.js', import.meta.url).href)
if (mariadb) process.env[MYSQL_VARIABLE] = mariadb.url()
if (running) await prepareMysql(running)
if (postgres) process.env[POSTGRES_VARIABLE] = postgres.url()
if (memcached) process.env[MEMCACHED_VARIABLE] = memcached.address
if (all) process.env[ALL_VARIABLE] = '1'
process.env[SEED_VARIABLE] = String(SEED)
console.log(`Seeds of this commit begin with ${SEED}; again: ${SEED_VARIABLE}=${SEED} npm test`)

let passed = 0
const failed: string[] = []
const seconds = new Map<string, number>()
const began = performance.now()
const tests = run({
  files: grouped(files, LONGEST).map((file) => join(ROOT, file)),
  concurrency: FILES_AT_ONCE,
  timeout: FILE_TIMEOUT_MS,
})
tests.on('test:pass', (test) => {
  if (test.details.type !== 'suite' && test.skip === undefined) passed++
})
tests.on('test:fail', (test) => failed.push(test.name))
tests.on('test:complete', ({ name, file, nesting, details }) => {
  // A file is a test of its own, named by its path.
  if (file === undefined || nesting > 0 || resolve(name) !== file) return
  seconds.set(relative(ROOT, file), details.duration_ms / 1000)
})
await pipeline(tests, new spec(), process.stdout, { end: false })
await Promise.all([mariadb?.stop(), memcached?.stop(), postgres?.stop()])

// A run in which nothing ran has shown nothing.
const ok = failed.length === 0 && passed > 0
printDurations()
const took = ((performance.now() - began) / 1000).toFixed(0)
console.log(`${files.length} files, ${passed} passed, ${failed.length} failed, ${took} s`)
process.exit(ok ? 0 : 1)

/** Ends the run with the message of what `work` throws. */
function orExit<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

function printDurations(): void {
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN)
  console.log(`The ${slowest.length} slowest files, in seconds:`)
  for (const [file, took] of slowest) console.log(`${took.toFixed(1).padStart(7)}  ${file}`)
}

function testFiles(parts: readonly string[]): string[] {
  return ['src', 'test', 'bench']
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(folder, file),
      ),
    )
    .filter(
      (file) =>
        file.endsWith('.test.ts') &&
        (parts.length === 0
          ? all || !ONLY_OF_ALL.includes(file)
          : parts.some((part) => file.includes(part))) &&
        (!fast || isFast(file)),
    )
    .sort()
}

function isFast(file: string): boolean {
  return !LONGEST.includes(file) && !USES_BUILD.test(file) && needsOf([file]).programs.size === 0
}
