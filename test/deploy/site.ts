/** The site of `deploy/`, as its image starts it. Needs `npm run build` before. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { newProject } from '../docs/project.js'
import { type Spawned, spawned } from '../docs/spawned.js'
import { commandOfImage } from '../docs/units.js'
import { freePort } from '../servers/free-port.js'
import { KIT, kitFile } from './kit.js'

export interface Site extends Spawned {
  /** Origin that visitors use. */
  readonly origin: string
  /** Address that serves health and metrics, `host:port`. */
  readonly operations: string
  /** Folder of a project that has installed the package. */
  readonly folder: string
}

export async function startSite(
  cache: string,
  database: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Site> {
  const folder = newProject()
  symlinkSync(join(KIT, 'server.js'), join(folder, 'server.js'))
  const [port, operationsPort] = [await freePort(), await freePort()]
  const [, ...args] = commandOfImage(kitFile('Dockerfile'), 'site')
  // Node would look for packages beside the file that the link leads to.
  const process_ = spawned(process.execPath, ['--preserve-symlinks-main', ...args], folder, {
    NODE_ENV: 'production',
    PORT: String(port),
    OPERATIONS_PORT: String(operationsPort),
    WIDE_CACHE_SERVERS: cache,
    WIDE_CACHE_DATABASE_URL: database,
    ...environment,
  })
  return {
    ...process_,
    origin: `http://127.0.0.1:${port}`,
    operations: `127.0.0.1:${operationsPort}`,
    folder,
  }
}
