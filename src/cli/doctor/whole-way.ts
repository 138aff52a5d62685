/**
 * Sends a row the whole way: from a web process through the cache, by a collector, into the
 * database. It has a name, and so a grid and a ledger, of its own, which are removed afterwards.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cache } from '../../cache/cache.js'
import { openCache } from '../../cache/open.js'
import { namespaced } from '../../connections/namespaced-cache.js'
import type { Database } from '../../database/database.js'
import { execute } from '../../database/sql.js'
import { openDatabase } from '../../database/open.js'
import { systemEnvironment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import { SILENT } from '../../support/logger.js'
import { framesInQuarantine } from '../../wide-cache/ledger/quarantined-frames.js'
import { removeName } from '../../wide-cache/operations/remove-name.js'
import { WideCache } from '../../wide-cache/wide-cache.js'
import { type Finding, findingsOf } from './finding.js'

/** The kind of the rows, which nothing else has, and collectors pass by. */
export const DOCTOR_KIND = 'doctor'
const NAME_START = 'doctor.'

/** Longest time that the row may take, in ms. A collector finds it as soon as it is in a cell. */
const PATIENCE_MS = 8_000
const LOOK_EVERY_MS = 250

/** A name that is older was left by a doctor that has been killed. */
const LEFT_MS = 600_000

/** Row that is sent, and the side that has committed it. */
interface Way {
  readonly name: string
  readonly token: string
  /** Side that has committed the row. */
  committedBy: 'web process' | 'collector' | undefined
}

/**
 * @param url of the database; `servers` of the cache
 * @throws Error when `stop` is aborted, after all is removed
 */
export async function checkWholeWay(
  url: string | undefined,
  servers: string | undefined,
  stop: AbortSignal,
): Promise<Finding[]> {
  const { error } = findingsOf('whole way')
  const way: Way = {
    name: `${NAME_START}${randomUUID().slice(0, 8)}`,
    token: randomUUID(),
    committedBy: undefined,
  }
  const web = new Side(url, servers, way, 'web process')
  // A grid in the memory of a process is collected by that process alone.
  const collector = web.cache.scope === 'private' ? web : new Side(url, servers, way, 'collector')
  const findings: Finding[] = []
  try {
    await removeLeft(web)
    findings.push(await go(web, collector, way, stop))
  } catch (failure) {
    if (stop.aborted) throw failure
    findings.push(
      error(
        `a row did not come to the database: ${messageOf(failure)}`,
        'web processes and collectors with these settings fail in the same way: fix the cause',
      ),
    )
  } finally {
    const sides = new Set([web, collector])
    for (const { wide } of sides) await wide.close()
    findings.push(...(await removed(web, way.name)))
    for (const side of sides) await side.close()
  }
  return findings
}

/** Removes all that was made for it. */
async function removed({ database, part }: Side, name: string): Promise<Finding[]> {
  try {
    await removeName(database, part, name)
    return []
  } catch (failure) {
    return [
      findingsOf('whole way').warning(
        `what was written under the name "${name}" is left: ${messageOf(failure)}`,
        'run the command again in ten minutes; it removes what it has left',
      ),
    ]
  }
}

/** A process of a site, with connections of its own. */
class Side {
  readonly cache: Cache
  readonly database: Database
  /** The part of the cache that belongs to the database. */
  readonly part: Cache
  readonly wide: WideCache<string>

  constructor(
    url: string | undefined,
    servers: string | undefined,
    way: Way,
    who: 'web process' | 'collector',
  ) {
    this.cache = openCache(servers).cache
    this.database = openDatabase(url, SILENT).database
    const { cache, database } = this
    this.part = namespaced(cache, { database, environment: systemEnvironment, logger: SILENT })
    this.wide = new WideCache<string>({
      name: way.name,
      kind: DOCTOR_KIND,
      cache: this.cache,
      database: this.database,
      collect: false,
      width: 1,
      layerSeconds: 1,
      drainAfterLayers: 2,
      cellTtlSeconds: 60,
      closeTimeoutMs: 2_000,
      // The findings say what fails; this log would say it in the words of the two sides.
      logger: SILENT,
      commit: async (rows) => {
        if (rows.includes(way.token)) way.committedBy = who
      },
    })
  }

  async close(): Promise<void> {
    await this.database.close()
    await this.cache.close()
  }
}

async function go(web: Side, collector: Side, way: Way, stop: AbortSignal): Promise<Finding> {
  const { ok, warning, error } = findingsOf('whole way')
  const began = performance.now()
  await web.wide.migrate()
  await collector.wide.migrate()
  web.wide.append(way.token)
  await web.wide.flush()
  while (performance.now() - began < PATIENCE_MS) {
    if (stop.aborted) throw new Error('it was told to stop')
    await collector.wide.drain({ all: true })
    const { committed } = await collector.wide.ledger()
    const changed = await framesInQuarantine(web.database, { name: way.name, limit: 1 })
    if (changed.length > 0) {
      return error(
        'what came out of the cache was not the frame that was sent',
        'something between the processes and the cache changes what they send: look for proxies',
      )
    }
    if (committed === 1 && way.committedBy !== undefined) {
      const ms = Math.round(performance.now() - began)
      return way.committedBy === 'collector' || web === collector
        ? ok(`a row went through the cache into the database in ${ms} ms`)
        : warning(
            'the cache did not take a frame, so the web process wrote it to the database itself',
            'check the cache server: it may be down, full, or refuse items of this size',
          )
    }
    await delay(LOOK_EVERY_MS)
  }
  return error(
    `a frame was in the cache, and no collector found it within ${PATIENCE_MS / 1000} s`,
    'compare the clocks, and give all processes the same list of cache servers; until then ' +
      'frames come to the database by their processes, a minute later',
  )
}

/** Removes what killed runs of the doctor have left. */
async function removeLeft({ database, part }: Side): Promise<void> {
  const { rows } = await execute(database)`SELECT n.name FROM wide_cache_names AS n
    LEFT JOIN wide_cache_grids AS g ON g.name = n.name WHERE n.kind = ${DOCTOR_KIND}
    AND COALESCE(g.used_at, 0) < ${(await database.now()) - LEFT_MS} LIMIT 10`
  for (const { name } of rows) await removeName(database, part, String(name))
}
