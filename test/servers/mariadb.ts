/** A MariaDB (or MySQL) server of its own for tests: temporary folder, free port, small buffers. */
import { execFile, execFileSync, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, realpathSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { binary, executable } from './binaries.js'
import { freePort } from './free-port.js'
import {
  endProcess,
  hasEnded,
  removeFolder,
  startProcess,
  tail,
  temporaryFolder,
} from './process.js'

const START_TIMEOUT_MS = 300_000
const USER = 'wide'
const PASSWORD = 'cache-password'

/** A server makes this file as large at once, and each test's server copies it. */
const LOG_SIZE = '--loose-innodb-log-file-size=16M'

/**
 * Small and quick. A commit is in the kernel's hands before it is answered (2), so that a killed
 * server has lost nothing; only a power cut would.
 */
const OPTIONS = [
  '--skip-log-bin',
  '--innodb-flush-log-at-trx-commit=2',
  '--innodb-buffer-pool-size=64M',
  LOG_SIZE,
  '--max-connections=200',
  '--skip-name-resolve',
  // MariaDB's defaults. MySQL takes no LOAD DATA of its clients unless it is told to.
  '--local-infile=ON',
  '--max-allowed-packet=16M',
  // MySQL's second protocol has a port of its own; MariaDB does not know it.
  '--loose-mysqlx=OFF',
]

/**
 * The folder of a server that has been initialised and never started; set by `test/run.ts`. To
 * initialise one takes seconds of writing to the disk, to copy one does not.
 */
export const MARIADB_DATA_VARIABLE = 'WIDE_CACHE_TEST_MARIADB_DATA'

export interface MariaDb {
  readonly port: number
  readonly socket: string
  /** Process id of the running server; another one after `restart()`. */
  readonly pid: number
  /** `mysql://user:password@127.0.0.1:port/database` */
  url(database?: string): string
  /** Returns its URL. */
  createDatabase(name: string): Promise<string>
  /** In order, keeping the data for `restart()`; at the end of the test process the data go. */
  stop(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
  /** Stops it if it runs, and starts it again on the same port and data. */
  restart(): Promise<void>
}

/** Whether the tests run on MariaDB, and not on MySQL. */
export function onMariadb(): boolean {
  return basename(realpathSync(binary('mariadb'))) === 'mariadbd'
}

/**
 * Starts a server with an empty database `test`. As root, it runs as `systemUser`. `env`: added to
 * its environment.
 */
export async function startMariadb(
  options: readonly string[] = [],
  { systemUser = 'root', env = {} }: { systemUser?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<MariaDb> {
  const program = binary('mariadb')
  const folder = temporaryFolder('mariadb')
  const [data, socket, log] = [join(folder, 'data'), join(folder, 'socket'), join(folder, 'log')]
  const user = process.getuid?.() === 0 ? [`--user=${systemUser}`] : []
  if (user.length > 0 && systemUser !== 'root') execFileSync('chown', [systemUser, folder])
  // Servers that start at once clear away each other's files in a folder that they share.
  const tmpdir = `--tmpdir=${folder}`
  const initialised = process.env[MARIADB_DATA_VARIABLE]
  if (initialised && (user.length === 0 || systemUser === 'root')) {
    await cp(initialised, data, { recursive: true })
  } else {
    await initialise(program, data, [...user, tmpdir])
  }
  const port = await freePort()
  const args = [
    '--no-defaults',
    ...user,
    `--datadir=${data}`,
    `--socket=${socket}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--pid-file=${join(folder, 'pid')}`,
    tmpdir,
    // A packaged MySQL names a folder that only its installation makes.
    `--secure-file-priv=${folder}`,
    ...OPTIONS,
    // MySQL tells only there who holds a lock.
    ...(onMariadb() ? ['--performance-schema=OFF'] : []),
    ...options,
  ]

  const url = (database = 'test'): string =>
    `mysql://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`

  let server = await start()
  await asRoot(socket, [
    `CREATE USER IF NOT EXISTS '${USER}'@'%' IDENTIFIED BY '${PASSWORD}'`,
    `GRANT ALL PRIVILEGES ON *.* TO '${USER}'@'%' WITH GRANT OPTION`,
    'CREATE DATABASE IF NOT EXISTS test',
  ])

  async function start(): Promise<ChildProcess> {
    const child = startProcess(program, args, log, env)
    const deadline = performance.now() + START_TIMEOUT_MS
    // A node of a cluster takes connections before it takes statements.
    while (
      !(await asRoot(socket, ['SELECT 1 FROM mysql.user LIMIT 1']).then(
        () => true,
        () => false,
      ))
    ) {
      if (hasEnded(child) || performance.now() > deadline) {
        throw new Error(`${program} has not started:\n${tail(log)}`)
      }
      await delay(50)
    }
    return child
  }

  return {
    port,
    socket,
    get pid() {
      if (server.pid === undefined) throw new Error('the server is not running')
      return server.pid
    },
    url,
    async createDatabase(name) {
      await asRoot(socket, [`CREATE DATABASE \`${name}\``])
      return url(name)
    },
    stop: () => endProcess(server, 'SIGTERM'),
    kill: () => endProcess(server, 'SIGKILL'),
    async restart() {
      await endProcess(server, 'SIGTERM')
      server = await start()
    },
  }
}

/** Makes the folder of {@link MARIADB_DATA_VARIABLE}. */
export async function initialisedData(): Promise<string> {
  const folder = temporaryFolder('mariadb-data')
  const data = join(folder, 'data')
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  await initialise(binary('mariadb'), data, [...user, `--tmpdir=${folder}`])
  return data
}

/** `url`'s server with a fresh database; returns the URL of that. */
export async function freshDatabase(url: string): Promise<string> {
  const fresh = new URL(url)
  fresh.pathname = `/t_${randomUUID().replaceAll('-', '')}`
  const connection = await createConnection(url)
  await connection.query(`CREATE DATABASE \`${fresh.pathname.slice(1)}\``)
  await connection.end()
  return fresh.href
}

/** Not synchronously: other tests of the process have connections that would become too old. */
async function initialise(
  program: string,
  data: string,
  options: readonly string[],
): Promise<void> {
  mkdirSync(data)
  const installer =
    basename(program) === 'mariadbd'
      ? executable('mariadb-install-db', 'mysql_install_db')
      : undefined
  const [command, args] = installer
    ? [
        installer,
        [
          '--no-defaults',
          `--datadir=${data}`,
          LOG_SIZE,
          ...options,
          '--auth-root-authentication-method=normal',
          '--skip-test-db',
        ],
      ]
    : [
        program,
        ['--no-defaults', '--initialize-insecure', `--datadir=${data}`, LOG_SIZE, ...options],
      ]
  try {
    await promisify(execFile)(command, args, { timeout: START_TIMEOUT_MS })
  } catch (error) {
    removeFolder(data)
    throw error
  }
}

async function asRoot(socketPath: string, statements: readonly string[]): Promise<void> {
  const connection = await createConnection({ socketPath, user: 'root' })
  try {
    for (const statement of statements) await connection.query(statement)
  } finally {
    await connection.end()
  }
}
