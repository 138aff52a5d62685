/** Checks of the records of processes: collectors, server lists, quarantine, visitors. */
import type { Cache } from '../../cache/cache.js'
import type { Database } from '../../database/database.js'
import { execute } from '../../database/sql.js'
import { marksIn, marksOf } from '../../connections/mark-list.js'
import { marksKey } from '../../connections/namespace.js'
import { namespaceOf } from '../../database/identity.js'
import { SHARED } from '../../wide-cache/ledger/grid-record.js'
import { readNameState, recordedNames } from '../../wide-cache/operations/name-state.js'
import { type Finding, findingsOf } from './finding.js'

/** Lag, beyond the layers and the collecting period, past which a grid that is in use is behind. */
const BEHIND_MS = 120_000

/** Age of a layer when it is drained by default, in layers and rounded up. */
const DRAIN_LAYERS = 3

/** Lifetime of the list of marks in the cache, less an hour, in ms. */
const MARKS_MS = 23 * 3_600_000

/** A process may put a mark between the two questions. */
const MARK_TRIES = 3

/** Reasons of quarantine that are told. */
const MAX_REASONS = 10

/** Visits that the share of one visitor is taken from, and how many there must be. */
const VISITS = 10_000
const LEAST_VISITS = 100
const SHARE = 0.5

/** Tells whether processes have used a cache server lately. */
export async function usesServers(database: Database): Promise<boolean> {
  const { rows } = await execute(database)`SELECT 1 FROM wide_cache_grids
    WHERE private_to = ${SHARED} AND used_at > ${(await database.now()) - MARKS_MS} LIMIT 1`
  return rows.length > 0
}

/** Checks whether the grids that are in use are drained. */
export async function checkCollectors(database: Database): Promise<Finding[]> {
  const { ok, warning } = findingsOf('collectors')
  const now = await database.now()
  const findings: Finding[] = []
  const names = await recordedNames(database)
  for (const name of names) {
    const state = await readNameState(database, name, now)
    // The last used comes first.
    const used = state?.grids.find(({ privateTo }) => privateTo === null)
    if (!state || !used || state.ledger.writersSeen === 0) continue
    // The measures of an object share their grids.
    if (state.settings.gridName !== name) continue
    const { lagMs, movedAt, run, layerSeconds, periodSeconds } = used
    const allowedMs = BEHIND_MS + (DRAIN_LAYERS * layerSeconds + (periodSeconds ?? 0)) * 1000
    // A new grid begins with a watermark of long ago.
    if (lagMs <= allowedMs || now - movedAt <= BEHIND_MS) continue
    const last = run ? `${Math.round((now - run.at) / 1000)} s ago` : 'never'
    findings.push(
      warning(
        `the grid of "${name}" is drained up to ${Math.round(lagMs / 1000)} s ago, and its last ` +
          `collecting run ended ${last}`,
        'start wide-cache collect, or let a web process collect; if one runs, read its log',
      ),
    )
  }
  return findings.length > 0 ? findings : [ok(`no name of ${names.length} is behind`)]
}

/** Checks whether collectors use the cache that this command has been given. */
export async function checkServerLists(database: Database, cache: Cache): Promise<Finding[]> {
  if (cache.scope === 'private') return []
  const { ok, error } = findingsOf('server lists')
  const key = marksKey(await namespaceOf(database))
  const { rows } = await execute(database)`SELECT id, name FROM wide_cache_grids
    WHERE private_to = ${SHARED} AND mark IS NOT NULL
    AND moved_at > ${(await database.now()) - MARKS_MS} ORDER BY name`
  const odd = new Set<string>()
  let shown = 0
  for (const { id, name } of rows) {
    const shows = Buffer.isBuffer(id) ? await showsMark(database, cache, key, id) : undefined
    if (shows === false) odd.add(String(name))
    else if (shows) shown++
  }
  if (odd.size === 0) return shown === 0 ? [] : [ok('collectors use the same cache')]
  return [
    error(
      `the collectors of ${[...odd].join(', ')} use another cache than this command was given, ` +
        'or its server has just been restarted',
      'give all processes the same list of cache servers, in the same spelling, or, if each ' +
        'machine has a cache server of its own, a name per machine',
    ),
  ]
}

/**
 * Looks in the cache for the newest mark that a rise of the watermark has brought to the grid, or
 * for a newer one: where the cache's list begins anew, it shows nothing older for a while.
 * `undefined`: the cache does not answer.
 */
async function showsMark(
  database: Database,
  cache: Cache,
  key: string,
  id: Buffer,
): Promise<boolean | undefined> {
  for (let tries = 1; tries <= MARK_TRIES; tries++) {
    const { rows } = await execute(database)`
      SELECT mark FROM wide_cache_grids WHERE id = ${id} AND mark IS NOT NULL
      UNION ALL SELECT newer.mark FROM wide_cache_grids AS g
      JOIN wide_cache_marks AS own ON own.mark = g.mark
      JOIN wide_cache_marks AS newer ON newer.number >= own.number WHERE g.id = ${id}`
    const marks = marksOf(rows)
    if (marks.size === 0) return true
    const list = await cache.get(key).catch(() => null)
    if (list === null) return undefined
    if (marksIn(list).some((mark) => marks.has(mark))) return true
  }
  return false
}

/** Reports the contents of the quarantine, by name and reason. */
export async function checkQuarantine(database: Database): Promise<Finding[]> {
  const { ok, warning } = findingsOf('quarantine')
  const { rows } = await execute(database)`SELECT name, reason, COUNT(*) AS frames,
    SUM(row_count) AS row_sum FROM wide_cache_quarantine WHERE piece = 0
    GROUP BY name, reason LIMIT ${MAX_REASONS}`
  if (rows.length === 0) return [ok('empty')]
  return rows.map(({ name, reason, frames, row_sum: rowSum }) =>
    warning(
      `"${String(name)}": frames: ${Number(frames)}, rows: ${Number(rowSum)}, reason: ` +
        `${String(reason)}`,
      `wide-cache quarantine list --name ${String(name)}; fix the cause, then retry or drop them`,
    ),
  )
}

/**
 * Checks whether most of the newest visits are of one visitor, as behind a proxy that is not
 * trusted.
 */
export async function checkVisitors(database: Database): Promise<Finding[]> {
  const { ok, warning } = findingsOf('visitors')
  const { rows: books } = await execute(database)`SELECT name FROM activity_books ORDER BY name`
  const findings: Finding[] = []
  for (const { name } of books) {
    const { rows } = await execute(database)`SELECT COUNT(*) AS views, visitor
      FROM (SELECT visitor FROM activities WHERE name = ${name ?? ''}
      ORDER BY created_at DESC LIMIT ${VISITS}) AS newest GROUP BY visitor`
    const views = rows.reduce((sum, row) => sum + Number(row['views']), 0)
    const most = Math.max(
      0,
      ...rows.filter(({ visitor }) => visitor !== null).map((row) => Number(row['views'])),
    )
    if (views < LEAST_VISITS || most / views < SHARE) continue
    findings.push(
      warning(
        `${Math.round((100 * most) / views)} % of the last ${views} visits of "${String(name)}" ` +
          'are of one visitor',
        'if a proxy stands before the site, set "trust proxy" in Express, as in ' +
          'app.set("trust proxy", 1): otherwise all visitors behind it count as one',
      ),
    )
  }
  return findings.length > 0 || books.length === 0 ? findings : [ok('no visitor has most visits')]
}
