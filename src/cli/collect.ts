/** `wide-cache collect`: a collector alone. It waits for servers that are not there, and ends when told to. */
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity } from '../activity/activity.js'
import { openCache } from '../cache/open.js'
import { DatabaseError } from '../database/database.js'
import type { Logger } from '../support/logger.js'
import { type CollectOptions, UsageError } from './arguments.js'

/** How long to wait before a database that is not there is asked again. */
const RETRY_MS = 5_000

/** Collects until `stop` is aborted. @throws what no waiting mends: wrong options, a missing right. */
export async function collect(cacheUrl: string | undefined, options: CollectOptions, logger: Logger, stop: AbortSignal): Promise<void> {
  const { cache } = openCache(cacheUrl)
  try {
    if (cache.scope === 'private') {
      throw new UsageError('a memory: cache is private to its web process, which collects itself: there is nothing to collect here; set WIDE_CACHE_SERVERS (or MEMCACHE_SERVERS), or --cache memcached://host:port')
    }
    const activity = createActivity({ ...options, cache, logger })
    try {
      await untilReady(() => activity.migrate(), stop)
      if (stop.aborted) return
      logger.info(`wide-cache: collecting "${options.name ?? 'activity'}"`)
      await aborted(stop)
    } finally {
      await activity.close()
    }
  } finally {
    await cache.close()
  }
}

/** Tries until it works. Says nothing: the scheduled collector does, once. */
async function untilReady(migrate: () => Promise<void>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      return await migrate()
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'usage') throw error
    }
    await delay(RETRY_MS, undefined, { signal: stop }).catch(() => undefined)
  }
}

/** Resolves when `stop` is aborted, and keeps the process alive until then. */
async function aborted(stop: AbortSignal): Promise<void> {
  while (!stop.aborted) await delay(2 ** 31 - 1, undefined, { signal: stop }).catch(() => undefined)
}
