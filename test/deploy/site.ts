/** The site of `deploy/`, as its image starts it. Needs `npm run build` before. */
import { symlinkSync, writeFileSync } from 'node:fs'
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

/** Forks workers of the site, numbered as pm2 numbers them, and ends with them. */
const CLUSTER = (workers: number): string => `
  import cluster from 'node:cluster'
  cluster.setupPrimary({ exec: 'server.js' })
  for (let n = 0; n < ${workers}; n++) cluster.fork({ NODE_APP_INSTANCE: n })
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM')
  })
`

/** @param workers of a cluster; 0 for a process alone */
export async function startSite(
  cache: string,
  database: string,
  environment: Readonly<Record<string, string>> = {},
  workers = 0,
): Promise<Site> {
  const folder = newProject()
  symlinkSync(join(KIT, 'server.js'), join(folder, 'server.js'))
  const [port, operationsPort] = [await freePort(), await freePort(workers || 1)]
  let [, ...args] = commandOfImage(kitFile('Dockerfile'), 'site')
  if (workers > 0) {
    args = ['cluster.mjs']
    writeFileSync(join(folder, 'cluster.mjs'), CLUSTER(workers))
  }
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
