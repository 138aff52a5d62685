/** `wide-cache status`: the state of each name, from SQL. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, DatabaseError } from '../database/database.js'
import { tableSizes } from '../database/dialect.js'
import { PARTS } from '../database/migrations.js'
import { tablesOf } from '../database/schema-state.js'
import { systemClock } from '../support/clock.js'
import { messageOf } from '../support/errors.js'
import { BurstLogger } from '../support/logger.js'
import { identifier } from '../support/options.js'
import { printableJson } from '../support/printable.js'
import {
  type NameState,
  readNameState,
  recordedNames,
} from '../wide-cache/operations/name-state.js'
import { type OptionsOf, UsageError } from './arguments.js'
import { DOCTOR_KIND } from './doctor/whole-way.js'
import { refuseUnknownName, withTables } from './existing.js'
import type { CommandLog } from './log.js'
import { sitesText } from './sites.js'
import { type Status, statusText } from './status-text.js'

const WATCH_MS = 2_000

/**
 * Prints it once, or, with `watch`, every two seconds until `stop` is aborted.
 *
 * @param clear text that clears the terminal before it is printed again
 * @throws Error, UsageError, DatabaseError
 */
export async function status(
  { database: url, name, json, watch, all }: OptionsOf<'status'>,
  log: CommandLog,
  print: (text: string) => void,
  { stop, clear, everyMs = WATCH_MS }: { stop: AbortSignal; clear: string; everyMs?: number },
): Promise<void> {
  if (name !== undefined) identifier('name', name)
  if (all && name !== undefined) throw new UsageError('--name does not go with --all')
  await withTables(
    url,
    log,
    all ? ['wide-cache', 'activity'] : ['wide-cache'],
    async (database) => {
      const text = all
        ? () => sitesText(database, json)
        : textOfNames(database, name, json, await sizesOf(database))
      const show = async (): Promise<void> => {
        const read = await text()
        print(watch && !json ? `${clear}${read}` : read)
      }
      await show()
      const burst = new BurstLogger(log, () => systemClock.elapsed())
      while (watch) {
        await delay(everyMs, undefined, { signal: stop }).catch(() => undefined)
        if (stop.aborted) return
        try {
          await show()
          burst.recovered('status', 'wide-cache: the database answers again')
        } catch (error) {
          if (!(error instanceof DatabaseError) || error.category === 'usage') throw error
          burst.warn(
            'status',
            `wide-cache: reading the status failed and will be retried: ${messageOf(error)}`,
          )
        }
      }
    },
  )
}

function textOfNames(
  database: Database,
  name: string | undefined,
  json: boolean,
  tables: Status['tables'],
): () => Promise<string> {
  return async () => {
    const read = { ...(await namesOf(database, name)), tables }
    return json ? `${printableJson(read)}\n` : statusText(read)
  }
}

/** @throws UsageError where `only` is no name */
async function namesOf(
  database: Database,
  only: string | undefined,
): Promise<Pick<Status, 'readAt' | 'names'>> {
  const readAt = await database.now()
  const recorded = await recordedNames(database)
  refuseUnknownName(only, recorded)
  const names: NameState[] = []
  for (const name of only === undefined ? recorded : [only]) {
    const state = await readNameState(database, name, readAt)
    if (state && state.settings.kind !== DOCTOR_KIND) names.push(state)
  }
  return { readAt, names }
}

async function sizesOf(database: Database): Promise<Record<string, number>> {
  const tables = await Promise.all(PARTS.map((part) => tablesOf(database.dialect, part)))
  const sizes = await tableSizes(database, tables.flat())
  return Object.fromEntries([...sizes].sort(([, a], [, b]) => b - a))
}
