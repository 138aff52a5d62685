/**
 * `wide-cache parked`: shows the updates and entries that a function of the site fails at, has them
 * tried again, or skips them.
 */
import type { Parked, ParkedActions, ParkedQuery } from '../buckets/parked.js'
import { parkedUpdateActions, parkedUpdates } from '../collision-free-map/parked-updates.js'
import { unlocked } from '../connections/unlocked.js'
import type { Database } from '../database/database.js'
import { failingEntries, failingEntryActions } from '../export-queue/failing-entries.js'
import { systemEnvironment } from '../support/environment.js'
import { identifier } from '../support/options.js'
import { printable, printableJson } from '../support/printable.js'
import type { ParkedOptions } from './arguments.js'
import { refuseUnknownName, withTables } from './existing.js'
import type { CommandLog } from './log.js'
import { counted, isoOf, table } from './table.js'

/** The most of each kind that are listed, or acted on by `all`. */
const MOST = 1_000
/** Bytes of a key or a value that are shown. */
const MAX_BYTES_SHOWN = 2_000

interface Kind {
  readonly find: (database: Database, query: ParkedQuery) => Promise<Parked[]>
  readonly actions: (database: Database) => ParkedActions
}

const KINDS: Readonly<Record<Parked['kind'], Kind>> = {
  update: { find: parkedUpdates, actions: parkedUpdateActions },
  entry: { find: failingEntries, actions: failingEntryActions },
}

const PAST = { retry: 'retried', skip: 'skipped' } as const

/** Returns the exit status. @throws Error, DatabaseError */
export async function parked(
  { database: url, name, json, action }: ParkedOptions,
  log: CommandLog,
  print: (text: string) => void,
): Promise<number> {
  if (name !== undefined) identifier('name', name)
  return withTables(url, log, ['collision-free-map'], async (database) => {
    if (name !== undefined) await checkName(database, name)
    if (action.verb === 'list') {
      list(await all(database, name), { json, log, print })
      return 0
    }
    if (action.verb === 'show') {
      const one = await found(database, name, action.id)
      if (one) show(one, { json, print })
      else log.warn(`wide-cache: ${action.id} is not parked`, { id: action.id })
      return one ? 0 : 1
    }
    return act(database, action, name, { json, log, print })
  })
}

async function checkName(database: Database, name: string): Promise<void> {
  const { rows } = await database.query(
    'SELECT map AS name FROM collision_free_maps UNION ' +
      'SELECT queue FROM export_queues ORDER BY name',
  )
  refuseUnknownName(
    name,
    rows.map((row) => String(row['name'])),
  )
}

interface Found {
  readonly parked: readonly Parked[]
  readonly areMore: boolean
}

async function all(database: Database, name: string | undefined): Promise<Found> {
  const kinds = await Promise.all(
    Object.values(KINDS).map(({ find }) => find(database, { name, limit: MOST + 1 })),
  )
  return {
    parked: kinds.flatMap((found) => found.slice(0, MOST)),
    areMore: kinds.some((found) => found.length > MOST),
  }
}

/** @param id as `list` prints it, such as `entry-7` */
async function found(
  database: Database,
  name: string | undefined,
  id: string,
): Promise<Parked | undefined> {
  const { find } = KINDS[id.startsWith('entry') ? 'entry' : 'update']
  const [one] = await find(database, { name, id: Number(id.replace(/\D/g, '')), limit: 1 })
  return one
}

interface Output {
  readonly json: boolean
  readonly log: CommandLog
  readonly print: (text: string) => void
}

function list({ parked, areMore }: Found, { json, log, print }: Output): void {
  const listed = parked.map(shown)
  if (json) print(`${printableJson(listed)}\n`)
  else if (listed.length > 0) {
    print(
      table([
        ['ID', 'NAME', 'FAILED', 'OF', 'LAST', 'REASON'],
        ...listed.map((one) => [one.id, one.name, one.failures, one.entries, one.last, one.reason]),
      ]),
    )
  }
  if (listed.length === 0) log.info('wide-cache: nothing is parked')
  if (areMore) {
    log.info(
      `wide-cache: only ${counted(listed.length)} parked updates and entries are listed; there ` +
        'are more',
    )
  }
}

function show(one: Parked, { json, print }: Omit<Output, 'log'>): void {
  const told = { ...shown(one), key: textOf(one.key), value: textOf(one.value) }
  if (json) {
    print(`${printableJson(told)}\n`)
    return
  }
  for (const [what, text] of Object.entries(told)) print(`${what}: ${printable(String(text))}\n`)
}

async function act(
  database: Database,
  { verb, ids }: { readonly verb: 'retry' | 'skip'; readonly ids: readonly string[] | 'all' },
  name: string | undefined,
  { json, log, print }: Output,
): Promise<number> {
  const refused: { id: string; reason: string }[] = []
  let done = 0
  const each = async (id: string, one: Parked | undefined): Promise<void> => {
    const actions = one && KINDS[one.kind].actions(database)
    const reason = actions
      ? await unlocked(systemEnvironment, () => actions[verb](one))
      : 'it is not parked'
    if (reason === undefined) done++
    else refused.push({ id, reason })
  }
  try {
    if (ids === 'all') {
      for (const one of (await all(database, name)).parked) await each(shown(one).id, one)
    } else {
      for (const id of ids) await each(id, await found(database, name, id))
    }
  } finally {
    // Also where it cannot go on: what it has done by then is done.
    if (json) print(`${printableJson({ [PAST[verb]]: { done, refused } })}\n`)
    else report(verb, done, refused, log)
  }
  return refused.length > 0 ? 1 : 0
}

function report(
  verb: 'retry' | 'skip',
  done: number,
  refused: readonly { readonly id: string; readonly reason: string }[],
  log: CommandLog,
): void {
  log.info(`wide-cache: ${PAST[verb]} ${counted(done)} of what is parked`, { done })
  for (const { id, reason } of refused) {
    log.warn(`wide-cache: ${id} stays as it is: ${reason}`, { id, reason })
  }
}

function shown({ kind, id, name, failures, entries, failedAt, reason }: Parked) {
  return { id: `${kind}-${id}`, name, failures, entries, last: isoOf(failedAt), reason }
}

/** Text as it is, and other bytes in hexadecimal. */
function textOf(bytes: Buffer): string {
  const first = bytes.subarray(0, MAX_BYTES_SHOWN)
  const text = first.toString()
  const shown = Buffer.from(text).equals(first) ? text : first.toString('hex')
  return bytes.length > first.length ? `${shown}… (${bytes.length} bytes)` : shown
}
