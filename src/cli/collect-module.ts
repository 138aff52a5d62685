/**
 * `wide-cache collect --module`: collects what a file of the site exports. So the `commit` of a
 * site's own WideCache runs beside the web processes, which have `collect: false`.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { keptAlive, systemEnvironment } from '../support/environment.js'
import { messageOf } from '../support/errors.js'
import { type Collectable, collectableOf } from '../wide-cache/commands.js'
import { collectPeriodSeconds } from '../wide-cache/grid-options.js'
import { type OptionsOf, UsageError } from './arguments.js'
import { type Address, addressOf, listenWhile } from './listen.js'
import type { CommandLog } from './log.js'
import { servedBy } from './served.js'

/**
 * Collects until `stop` is aborted, listens where `listen` says meanwhile, and then closes what it
 * has collected. What the file has opened besides stays open.
 *
 * @throws UsageError, TypeError, RangeError
 */
export async function collectModule(
  file: string,
  { collect: line, listen }: Pick<OptionsOf<'collect'>, 'collect' | 'listen'>,
  log: CommandLog,
  stop: AbortSignal,
): Promise<void> {
  const address = listen === undefined ? undefined : addressOf(listen)
  if (line !== undefined) collectPeriodSeconds(line)
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError('--module: there is no such file')
  // Neither a file that waits nor a collector's timers keep the process alive by themselves.
  return keptAlive(systemEnvironment, async () => {
    const module = await Promise.race([imported(path), aborted(stop)])
    if (module) await collectFrom(module, { address, line, log, stop })
  })
}

interface CollectParts {
  readonly address: Address | undefined
  readonly line: string | undefined
  readonly log: CommandLog
  readonly stop: AbortSignal
}

async function collectFrom(
  module: object,
  { address, line, log, stop }: CollectParts,
): Promise<void> {
  const found = collectablesIn(module)
  if (found.size === 0) {
    throw new UsageError(
      '--module: the file exports nothing that can be collected; export a WideCache, an ' +
        'activity or hits',
    )
  }
  try {
    for (const [collectable, name] of found) {
      if (collectable.collectBy(line) === 'private') {
        throw new UsageError(
          `--module: the export ${name} has a memory: cache, which is private to its process; ` +
            'give it memcached://host:port',
        )
      }
      log.info(`wide-cache: collecting the export ${name}`, { export: name })
    }
    const served = servedBy(() => [...found].map(([collectable, name]) => [name, collectable]))
    await listenWhile(address, served, log, () => aborted(stop))
  } finally {
    await Promise.all([...found.keys()].map((collectable) => collectable.close()))
  }
}

/** @throws UsageError with the first line of what the file has thrown */
async function imported(path: string): Promise<object> {
  try {
    const module: unknown = await import(pathToFileURL(path).href)
    return isObject(module) ? module : {}
  } catch (error) {
    const [line = ''] = messageOf(error).split('\n')
    throw new UsageError(`--module: the file cannot be loaded: ${line}`)
  }
}

/** Returns the objects that can be collected, each once, with the name of its export. */
function collectablesIn(module: object): Map<Collectable, string> {
  const found = new Map<Collectable, string>()
  const look = (name: string, value: unknown): void => {
    const collectable = collectableOf(value)
    if (collectable && !found.has(collectable)) found.set(collectable, name)
  }
  for (const [name, value] of Object.entries(module)) look(name, value)
  // `module.exports = { clicks }` may come as a default export alone.
  const common: unknown = 'default' in module ? module.default : undefined
  if (isObject(common) && !collectableOf(common)) {
    for (const [name, value] of Object.entries(common)) look(name, value)
  }
  return found
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
