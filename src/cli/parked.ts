/**
 * `wide-cache parked`: shows the updates and entries that a function of the site fails at, has them
 * tried again, or skips them.
 */
import type { Parked } from '../buckets/parked.js'
import {
  keyStateOf,
  parkedUpdateActions,
  parkedUpdates,
} from '../collision-free-map/parked-updates.js'
import { failingEntries, failingEntryActions } from '../export-queue/failing-entries.js'
import { identifier } from '../support/options.js'
import { printable } from '../support/printable.js'
import type { OptionsOf } from './arguments.js'
import { withTables } from './existing.js'
import type { CommandLog } from './log.js'
import { SetAside } from './set-aside.js'
import { amount, isoOf } from './table.js'

/** Bytes of a key or a value that are shown. */
const MAX_BYTES_SHOWN = 2_000
/** Text is decoded as it is, or not at all. */
const UNCHANGED = { fatal: true, ignoreBOM: true } as const

const KINDS = {
  update: { find: parkedUpdates, actions: parkedUpdateActions },
  entry: { find: failingEntries, actions: failingEntryActions },
} as const

/** Returns the exit status. @throws Error, DatabaseError */
export async function parked(
  { database: url, action, ...flags }: OptionsOf<'parked'>,
  log: CommandLog,
  print: (text: string) => void,
): Promise<number> {
  if (flags.name !== undefined) identifier('name', flags.name)
  return withTables(url, log, ['collision-free-map'], (database) =>
    new ParkedOnes({ ...flags, database, log, print }).run(action),
  )
}

class ParkedOnes extends SetAside<Parked, string, 'retry' | 'skip'> {
  protected readonly names =
    'SELECT map AS name FROM collision_free_maps UNION ' +
    'SELECT queue FROM export_queues ORDER BY name'
  protected readonly columns = {
    ID: 'id',
    NAME: 'name',
    FAILED: 'failures',
    OF: 'entries',
    LAST: 'last',
    REASON: 'reason',
  }
  protected readonly texts = {
    nothing: 'nothing is parked',
    listed: (count: number) => `only ${amount(count)} parked updates and entries are listed`,
    missing: (id: string) => `${id} is not parked`,
    whyMissing: () => 'it is not parked',
    stays: (id: string) => `${id} stays as it is`,
    done: (done: number) => `${amount(done)} of what is parked`,
  }

  protected first(limit: number): Promise<Parked[][]> {
    const { database, name } = this.asked
    return Promise.all(Object.values(KINDS).map(({ find }) => find(database, { name, limit })))
  }

  protected async one(id: string): Promise<Parked | undefined> {
    const { database, name } = this.asked
    const { find } = KINDS[id.startsWith('entry') ? 'entry' : 'update']
    const [one] = await find(database, { name, id: Number(id.replace(/\D/g, '')), limit: 1 })
    return one
  }

  protected listed({ kind, id, name, failures, entries, failedAt, reason }: Parked) {
    return { id: `${kind}-${id}`, name, failures, entries, last: isoOf(failedAt), reason }
  }

  protected async shown(one: Parked) {
    const object = {
      ...this.listed(one),
      key: textOf(one.key),
      value: textOf(one.value),
      ...(one.kind === 'update' && (await this.#besides(one))),
    }
    const lines = Object.entries(object).map(([what, text]) => `${what}: ${printable(`${text}`)}\n`)
    return [object, lines.join('')] as const
  }

  /** Returns what the map has of the key, and warns that a retry may put an old value over it. */
  async #besides(one: Parked) {
    const { database, log } = this.asked
    const { value, later } = await keyStateOf(database, one)
    if (value || later > 0) {
      log.warn(
        `wide-cache: ${later > 0 ? 'later updates of this key wait' : 'the key has a value'}; if ` +
          'the last update wins, retry puts this one over what is newer, so skip it',
        { later },
      )
    }
    return { now: value ? textOf(value) : 'no value', later }
  }

  protected async act(one: Parked, verb: 'retry' | 'skip') {
    return (await KINDS[one.kind].actions(this.asked.database)[verb](one)) ?? 1
  }

  protected amounts(done: number) {
    return { done }
  }
}

/** Text as it is, and other bytes in hexadecimal. */
function textOf(bytes: Buffer): string {
  const first = bytes.subarray(0, MAX_BYTES_SHOWN)
  const isCut = bytes.length > first.length
  const shown = decoded(first, isCut) ?? first.toString('hex')
  return isCut ? `${shown}… (${bytes.length} bytes)` : shown
}

/** @param isCut whether the last character may lack bytes, and is left out then */
function decoded(bytes: Buffer, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', UNCHANGED).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
