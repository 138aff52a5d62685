/** A PostgreSQL server of its own for tests: temporary folder, free port, quick commits. */
import { execFile, execFileSync, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { realpathSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { binary } from './binaries.js'
import { freePort } from './free-port.js'
import { endProcess, hasEnded, startProcess, tail, temporaryFolder } from './process.js'

const START_TIMEOUT_MS = 300_000
const USER = 'wide'
const PASSWORD = 'cache-password'
/** PostgreSQL does not run as root. */
const SYSTEM_USER = 'nobody'

/**
 * Small and quick. Commits are in the kernel's hands before they are answered, so that a killed
 * server has lost nothing; only a power cut would.
 */
const SETTINGS = {
  fsync: 'off',
  // In the folder of the data, so that what a killed server leaves goes with it.
  dynamic_shared_memory_type: 'mmap',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_connections: '100',
  // The oldest of the version that is tested may have another default.
  wal_level: 'replica',
  autovacuum_naptime: '10s',
  listen_addresses: '127.0.0.1',
}

/** For a server of hundreds of databases, each of which would be vacuumed for itself. */
export const MANY_DATABASES = { autovacuum: 'off' }

export interface Postgres {
  readonly port: number
  /** The folder of its Unix socket. */
  readonly socketFolder: string
  /** Process id of the running server; another one after `restart()`. */
  readonly pid: number
  /** `postgres://user:password@127.0.0.1:port/database` */
  url(database?: string): string
  /** Runs a statement as the superuser. */
  tell(sql: string, database?: string): Promise<void>
  /** In order, keeping the data for `restart()`; at the end of the test process the data go. */
  stop(): Promise<void>
  /** SIGKILL, which ends all of its processes. */
  kill(): Promise<void>
  /** Stops it if it runs, and starts it again on the same port and data. */
  restart(): Promise<void>
  /** Another server that follows this one. */
  startStandby(): Promise<Standby>
}

export interface Standby extends Postgres {
  /** Ends following: it takes writes from then on. */
  promote(): Promise<void>
}

/**
 * The folder of a server that has been initialised and never started; set by `test/run.ts`, as for
 * MariaDB.
 */
export const POSTGRES_DATA_VARIABLE = 'WIDE_CACHE_TEST_POSTGRES_DATA'

/** Starts a server with an empty database `test`. */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<Postgres> {
  const { folder, data } = ownFolder()
  const initialised = process.env[POSTGRES_DATA_VARIABLE]
  if (initialised) {
    await cp(initialised, data, { recursive: true })
    handOver(data)
  } else await initialise(folder, data)
  const server = await startOn(folder, data, settings)
  await server.tell('CREATE DATABASE test', 'postgres')
  return server
}

async function startOn(
  folder: string,
  data: string,
  settings: Readonly<Record<string, string>>,
): Promise<Standby> {
  const port = await freePort()
  const log = join(folder, 'log')
  const all = { ...SETTINGS, port: String(port), unix_socket_directories: folder, ...settings }
  const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const url = (database = 'test') => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`
  const ask = async (sql: string, database: string): Promise<void> => {
    const client = new pg.Client(url(database))
    client.on('error', () => undefined)
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }

  async function start(): Promise<ChildProcess> {
    const child = startProcess(
      postgresProgram('postgres'),
      ['-D', data, ...args],
      log,
      {},
      systemUser(),
    )
    const deadline = performance.now() + START_TIMEOUT_MS
    while (
      !(await ask('SELECT 1', 'postgres').then(
        () => true,
        () => false,
      ))
    ) {
      if (hasEnded(child) || performance.now() > deadline) {
        throw new Error(`postgres has not started:\n${tail(log)}`)
      }
      await delay(20)
    }
    return child
  }

  let server = await start()
  return {
    port,
    socketFolder: folder,
    get pid() {
      if (server.pid === undefined) throw new Error('the server is not running')
      return server.pid
    },
    url,
    tell: (sql, database = 'test') => ask(sql, database),
    // Cuts connections, instead of waiting until their users have closed them.
    stop: () => endProcess(server, 'SIGINT'),
    kill: () => endProcess(server, 'SIGKILL'),
    async restart() {
      await endProcess(server, 'SIGINT')
      server = await start()
    },
    async startStandby() {
      const own = ownFolder()
      const source = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/`
      await run('pg_basebackup', ['-d', source, '-D', own.data, '-R', '-X', 'stream', '-c', 'fast'])
      return startOn(own.folder, own.data, settings)
    },
    promote: () => ask('SELECT pg_promote()', 'postgres'),
  }
}

/** Makes the folder of {@link POSTGRES_DATA_VARIABLE}. */
export async function initialisedPostgresData(): Promise<string> {
  const { folder, data } = ownFolder()
  await initialise(folder, data)
  return data
}

/** `url`'s server with a fresh database; returns the URL of that. */
export async function freshPostgresDatabase(url: string): Promise<string> {
  const fresh = new URL(url)
  fresh.pathname = `/t_${randomUUID().replaceAll('-', '')}`
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`CREATE DATABASE ${fresh.pathname.slice(1)}`)
  await client.end()
  return fresh.href
}

function ownFolder(): { folder: string; data: string } {
  const folder = temporaryFolder('postgres')
  handOver(folder)
  return { folder, data: join(folder, 'data') }
}

async function initialise(folder: string, data: string): Promise<void> {
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 })
  const locale = ['-E', 'UTF8', '--locale=C', '--no-sync']
  const access = ['-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
  await run('initdb', ['-D', data, ...access, ...locale])
}

async function run(name: string, args: readonly string[]): Promise<void> {
  const options = { timeout: START_TIMEOUT_MS, cwd: '/', ...systemUser() }
  await promisify(execFile)(postgresProgram(name), args, options)
}

/** Path of a program of PostgreSQL. Those of a version lie beside each other. */
export function postgresProgram(name: string): string {
  return join(dirname(realpathSync(binary('postgres'))), name)
}

let ids: { uid?: number; gid?: number } | undefined

/** The user that servers run as which do not run as root; the user of this process otherwise. */
export function systemUser(): { uid?: number; gid?: number } {
  const id = (of: string) => Number(execFileSync('id', [of, SYSTEM_USER], { encoding: 'utf8' }))
  return (ids ??= process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {})
}

/** Gives files and folders, with all in them, to the {@link systemUser}. */
export function handOver(...paths: string[]): void {
  const { uid, gid } = systemUser()
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, ...paths])
}
