/**
 * Finds the programs that the tests and benchmarks run against. As root, missing ones are installed
 * with apt-get; otherwise the error names what to install.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const WHOLE_BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

interface Wanted {
  readonly names: readonly string[]
  /** Names of programs that do the same, more slowly. */
  readonly instead?: readonly string[]
  readonly debianPackage: string
}

const PROGRAMS = {
  memcached: { names: ['memcached'], debianPackage: 'memcached' },
  mariadb: { names: ['mariadbd', 'mysqld'], debianPackage: 'mariadb-server' },
  faketime: { names: ['faketime'], debianPackage: 'faketime' },
  pgbouncer: { names: ['pgbouncer'], debianPackage: 'pgbouncer' },
  postgres: { names: ['postgres'], debianPackage: 'postgresql' },
  redis: { names: ['redis-server', 'valkey-server'], debianPackage: 'redis-server' },
  // Takes a tenth of the time of the whole browser. It has no tabs that hide each other.
  chromiumShell: {
    names: ['chromium-headless-shell'],
    instead: WHOLE_BROWSERS,
    debianPackage: 'chromium-headless-shell',
  },
  chromium: { names: WHOLE_BROWSERS, debianPackage: 'chromium' },
  nginx: { names: ['nginx'], debianPackage: 'nginx-light' },
  apache: { names: ['apache2'], debianPackage: 'apache2' },
  caddy: { names: ['caddy'], debianPackage: 'caddy' },
  prometheus: { names: ['prometheus'], debianPackage: 'prometheus' },
  promtool: { names: ['promtool'], debianPackage: 'prometheus' },
  'docker-compose': { names: ['docker-compose'], debianPackage: 'docker-compose' },
} satisfies Record<string, Wanted>

export type Program = keyof typeof PROGRAMS

/**
 * Path of the database server that the tests run on, MySQL or MariaDB. Unset: the one that is
 * installed.
 */
export const MYSQLD_VARIABLE = 'WIDE_CACHE_TEST_MYSQLD'

/** Path of the `postgres` that the tests run on. Unset: the newest that is installed. */
export const POSTGRESD_VARIABLE = 'WIDE_CACHE_TEST_POSTGRESD'
const VARIABLES: Readonly<Partial<Record<Program, string>>> = {
  mariadb: MYSQLD_VARIABLE,
  postgres: POSTGRESD_VARIABLE,
}

/** Debian keeps servers outside a user's PATH. */
const SYSTEM_FOLDERS = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
  '/usr/libexec',
  ...debiansPostgres(),
]

/** Debian keeps each version of PostgreSQL in a folder of its own. The newest comes first. */
function debiansPostgres(): string[] {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return []
  const newest = readdirSync(versions).sort((a, b) => Number(b) - Number(a))
  return newest.map((version) => join(versions, version, 'bin'))
}

/** A script that, where it exists, decides whether installing a server may start it. */
const START_POLICY = '/usr/sbin/policy-rc.d'
const INSTALL_TIMEOUT_MS = 900_000

/** The path of an executable by one of these names, or `undefined`. */
export function executable(...names: string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS]
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

/** The path of a program. @throws Error that says what to install */
export function binary(program: Program): string {
  const path = found(program)
  if (!path) throw missing([program])
  return path
}

function found(program: Program): string | undefined {
  return itself(program) ?? executable(...(wanted(program).instead ?? []))
}

function wanted(program: Program): Wanted {
  return PROGRAMS[program]
}

function itself(program: Program): string | undefined {
  const variable = VARIABLES[program]
  const named = variable && process.env[variable]
  if (!named) return executable(...PROGRAMS[program].names)
  if (isExecutable(named)) return named
  throw new Error(`${variable} names no program that can be run: ${named}`)
}

/** Installs programs that are missing, where it can. @throws Error that says what to install */
export function ensureBinaries(programs: readonly Program[]): void {
  const missed = programs.filter((program) => !itself(program))
  if (missed.length > 0 && process.getuid?.() === 0 && executable('apt-get')) {
    install(missed.map((program) => PROGRAMS[program].debianPackage))
  }
  const absent = programs.filter((program) => !found(program))
  if (absent.length > 0) throw missing(absent)
}

function install(packages: string[]): void {
  console.log(`Installing ${packages.join(', ')} with apt-get`)
  const aptGet = (...args: string[]) =>
    execFileSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: INSTALL_TIMEOUT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  // The programs are wanted; a service on the default port is nobody's wish.
  const ownPolicy = !existsSync(START_POLICY)
  if (ownPolicy) writeFileSync(START_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    aptGet('update', '-q')
    aptGet('install', '-q', '-y', '--no-install-recommends', ...packages)
  } finally {
    if (ownPolicy) rmSync(START_POLICY, { force: true })
  }
}

function missing(programs: readonly Program[]): Error {
  const names = programs.map((program) => PROGRAMS[program].names.join(' or ')).join(', ')
  const packages = programs.map((program) => PROGRAMS[program].debianPackage).join(' ')
  return new Error(
    `Needed, but not found in PATH: ${names}. Install: apt-get install ` +
      `--no-install-recommends ${packages}  (or run this as root)`,
  )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
