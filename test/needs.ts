/**
 * The servers and browsers that a test file needs, by what it and the programs that it starts
 * import.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Program } from './servers/binaries.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Imported by name: the file has a function for each server that test files share. */
const SHARED_FILE = 'test/servers/shared.ts'
export const SHARED = {
  sharedMysqlUrl: 'mariadb',
  sharedPostgresUrl: 'postgres',
  sharedMemcached: 'memcached',
  sharedRedis: 'redis',
} as const

/** By the file in `test/servers/` that starts them. */
const STARTS: Readonly<Record<string, readonly Program[]>> = {
  'browser.ts': ['chromiumShell', 'chromium'],
  'host-clock.ts': ['faketime'],
  'mariadb.ts': ['mariadb'],
  'memcached.ts': ['memcached'],
  'postgres.ts': ['postgres'],
  'proxies.ts': ['nginx', 'apache', 'caddy'],
  'redis.ts': ['redis'],
}

export interface Needs {
  /** What has to be installed. */
  readonly programs: ReadonlySet<Program>
  /** Of these, the servers that the files share. */
  readonly shared: ReadonlySet<Program>
  /** Of these, the programs that the files start, or ask about, themselves. */
  readonly own: ReadonlySet<Program>
}

/**
 * Returns the text of each file, and of those that it imports, directly or not, by their paths from
 * the root of the project. The servers that files share are left out.
 */
export function importedBy(files: readonly string[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const seen = new Set(files)
  // A set goes on to what is added to it meanwhile.
  for (const file of seen) {
    const text = readFileSync(join(ROOT, file), 'utf8').replace(/^import type [^']*'.*'$/gm, '')
    texts.set(file, text)
    for (const [, path] of text.matchAll(/'(\.[^'\n]*)\.[jt]s(?:\?bounds)?'/g)) {
      const next = normalize(join(dirname(file), `${path}.ts`)).replaceAll('\\', '/')
      if (next !== SHARED_FILE && existsSync(join(ROOT, next))) seen.add(next)
    }
  }
  return texts
}

/** @param files paths from the root of the project */
export function needsOf(files: readonly string[]): Needs {
  const [own, shared] = [new Set<Program>(), new Set<Program>()]
  for (const [file, text] of importedBy(files)) {
    for (const program of STARTS[file.replace(/^test\/servers\//, '')] ?? []) own.add(program)
    for (const [name, program] of Object.entries(SHARED)) {
      if (text.includes(name)) shared.add(program)
    }
  }
  return { programs: new Set([...own, ...shared]), shared, own }
}
