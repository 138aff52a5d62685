/**
 * Runs the tests: `node --import tsx test/run.ts [part of a file's path …]`. Sees to the server
 * programs, starts one MariaDB and one memcached for all files, and runs the files, three at a time
 * (many wait more than they work), each in a process.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { ensureBinaries } from './servers/binaries.js'
import { startMariadb } from './servers/mariadb.js'
import { startMemcached } from './servers/memcached.js'
import { MEMCACHED_VARIABLE, MYSQL_VARIABLE } from './servers/shared.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FILE_TIMEOUT_MS = 600_000
const FILES_AT_ONCE = 3

const files = testFiles(process.argv.slice(2))
if (files.length === 0) {
  console.error(`No test file's path has any of: ${process.argv.slice(2).join(', ')}`)
  process.exit(1)
}
try {
  ensureBinaries(['memcached', 'mariadb', 'chromium'])
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

const [mariadb, memcached] = await Promise.all([startMariadb(), startMemcached()])
// The files run in child processes, which inherit the environment and this process's --import tsx.
process.env[MYSQL_VARIABLE] = mariadb.url()
process.env[MEMCACHED_VARIABLE] = `127.0.0.1:${memcached.port}`

let passed = 0
const failed: string[] = []
const tests = run({ files, concurrency: FILES_AT_ONCE, timeout: FILE_TIMEOUT_MS })
tests.on('test:pass', (test) => {
  if (test.details.type !== 'suite' && test.skip === undefined) passed++
})
tests.on('test:fail', (test) => failed.push(test.name))
await pipeline(tests, new spec(), process.stdout, { end: false })
await Promise.all([mariadb.stop(), memcached.stop()])

// A run in which nothing ran has shown nothing.
const ok = failed.length === 0 && passed > 0
console.log(`${files.length} files, ${passed} passed, ${failed.length} failed`)
process.exit(ok ? 0 : 1)

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
        (parts.length === 0 || parts.some((part) => file.includes(part))),
    )
    .sort()
    .map((file) => join(ROOT, file))
}
