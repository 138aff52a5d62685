/** A block of JavaScript in a process of its own, against the built package. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { INTERRUPT_BUDGET } from '../../scripts/typescript/exec-argv.js'
import { openDatabase } from '../../src/database/open.js'
import { TO_A_PAGE } from '../../src/support/http.fixture.js'
import { removeFolder } from '../servers/process.js'
import { fewOrMany } from '../scale.js'
import { withoutSlowness } from '../slow-machine.js'
import { type Block, chainOf, sourceOf, textOf } from './blocks.js'
import { embedded, namesServers, onServers, type Place } from './places.js'
import { newProject } from './project.js'
import { statementsOf } from './statements.js'

const PRELOAD = fileURLToPath(new URL('./preload.js', import.meta.url))
/** A block that neither ends nor listens for so long does not work. */
const LIMIT_MS = 180_000

/** A visit of a site while it listens, before SIGTERM. */
export type Visit = (origin: string) => Promise<void>

/** Returns the places where a block runs. One that names its servers runs on these only. */
export function placesOf(block: Block): ('memory and SQLite' | 'memcached and MariaDB')[] {
  if (namesServers(textOf(chainOf(block)))) return ['memcached and MariaDB']
  return fewOrMany(['memory and SQLite'], ['memory and SQLite', 'memcached and MariaDB'])
}

/**
 * Runs a block, after what it continues, in an empty folder. It has to end by itself with status 0,
 * or to listen, answer and end on SIGTERM; and to say nothing on stderr. @throws Error with what it
 * said instead
 */
export async function run(
  block: Block,
  where: ReturnType<typeof placesOf>[number],
  visit: Visit = askFor(block),
): Promise<void> {
  const chain = chainOf(block)
  const folder = newProject()
  const place = where === 'memory and SQLite' ? embedded(folder) : await onServers(textOf(chain))
  try {
    await prepare(
      chain.filter(({ language }) => language === 'sql'),
      place,
    )
    const file = writeProgram(folder, chain)
    await ends(
      file,
      folder,
      place,
      visit,
      chain.some(({ text }) => text.includes('SIGTERM')),
    )
    const files = readdirSync(folder).filter((name) => name.endsWith('.db'))
    if (!place.embedded && files.length > 0) {
      throw new Error(`it has made ${files.join(', ')} though there is a DATABASE_URL`)
    }
  } finally {
    removeFolder(folder)
  }
}

async function prepare(sql: readonly Block[], { databaseUrl }: Place): Promise<void> {
  if (sql.length === 0) return
  const { database } = openDatabase(databaseUrl)
  for (const statement of sql.flatMap(({ text }) => statementsOf(text))) {
    await database.query(statement)
  }
  await database.close()
}

function writeProgram(folder: string, chain: readonly Block[]): string {
  const file = join(folder, `${basename(chain[0]!.file)}.mjs`)
  writeFileSync(file, sourceOf(chain.filter(({ language }) => language === 'js')))
  return file
}

async function ends(
  file: string,
  folder: string,
  place: Place,
  visit: Visit,
  handlesSigterm: boolean,
): Promise<void> {
  const child = spawn(process.execPath, [...INTERRUPT_BUDGET, '--import', PRELOAD, file], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: {
      PATH: process.env['PATH'],
      WIDE_CACHE_TEST_ROUTES: JSON.stringify(place.routes),
      ...place.env,
    },
  })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (data) => {
    stderr += data
  })
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (status, signal) => resolve(status ?? signal)),
  )
  const timeout = setTimeout(kill, LIMIT_MS)
  try {
    const port = await Promise.race([listening(child), ended.then(() => undefined)])
    if (port !== undefined) {
      await visit(`http://127.0.0.1:${port}`)
      child.kill('SIGTERM')
    }
    const status = await ended
    const expected = port === undefined || handlesSigterm ? 0 : 'SIGTERM'
    if (status !== expected) {
      throw new Error(
        status === 'SIGKILL'
          ? `it does not end within ${LIMIT_MS / 1000} s\n${stderr}`
          : `it ends with ${status}:\n${stderr}`,
      )
    }
    const said = withoutSlowness(stderr)
    if (said) throw new Error(`it says on stderr:\n${said}`)
  } finally {
    clearTimeout(timeout)
    kill()
    process.off('exit', kill)
  }
}

function listening(child: ChildProcess): Promise<number> {
  return new Promise((resolve) =>
    child.once('message', (message: { port: number }) => resolve(message.port)),
  )
}

/**
 * Asks for `/` and all paths without parameters that a block has routes for. No answer may be a
 * failure of the server.
 */
function askFor(block: Block): Visit {
  const text = textOf(chainOf(block))
  const paths = new Set([
    '/',
    ...[...text.matchAll(/\bapp\.(?:use|get)\(\s*['"](\/[^'":*{]*)['"]/g)].map(([, path]) => path!),
  ])
  return async (origin) => {
    for (const path of paths) {
      const response = await fetch(origin + path, { headers: TO_A_PAGE })
      const body = await response.text()
      if (response.status >= 500) throw new Error(`${path} answers ${response.status}: ${body}`)
    }
  }
}
