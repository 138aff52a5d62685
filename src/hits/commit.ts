/**
 * Brings hits to SQL within the transaction of their frames: decides which of them count, and adds
 * them up. A viewer's hit counts if it is the first of its item and window to be committed. The
 * order of hits, and the number of concurrent transactions, make no difference to the counts.
 */
import { hash } from 'node:crypto'
import { listsOf } from '../database/bulk.js'
import type { Transaction } from '../database/database.js'
import { execute, joined, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Calendar } from '../support/calendar.js'
import { DAY_MS } from '../support/clock.js'
import { calendarOf, UTC_ZONE } from '../support/time-zone.js'
import type { CommitContext } from '../wide-cache/contexts.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { addHits, type CountedHit } from './history.js'
import type { Hit } from './hit.js'
import { DEFAULT_REPEAT_SECONDS, type HitsSettings } from './options.js'

/** Destination of hits, and the length of a window. */
export interface CommitTarget {
  readonly name: string
  readonly repeatMs: number
  readonly calendar: Calendar
  /** The database's clock, in milliseconds since the Unix epoch: no hit is later. */
  readonly now: number
}

/** A viewer on an item in a window. */
interface Viewing extends CountedHit {
  readonly windowStart: number
  readonly hash: Buffer
}

/** Viewings, and how often each has come. */
export const VIEWINGS = table(
  'hits_viewings',
  ['name', 'window_start', 'viewing'],
  ['times', 'add'],
)

/** 128 bits: that two of a thousand million viewings share a hash has a chance of 1 in 10^20. */
const VIEWING_BYTES = 16

/** The `commit` of the wide cache of hits: of the site, of collectors and of commands. */
export function hitsCommit({
  name,
  gridName,
  repeatSeconds,
}: Pick<HitsSettings, 'name' | 'gridName' | 'repeatSeconds'>): (
  hits: Hit[],
  tx: Transaction,
  context: CommitContext,
) => Promise<void> {
  return async (hits, tx, { now }) => {
    // Of SQL, so that all who commit have the same windows.
    const { repeatSeconds: common, timeZone } = (await readNameSettings(tx, gridName)) ?? {}
    const seconds = common || repeatSeconds || DEFAULT_REPEAT_SECONDS
    const calendar = calendarOf(timeZone ?? UTC_ZONE)
    await commitHits(hits, tx, { name, repeatMs: 1000 * seconds, calendar, now })
  }
}

/** Locks viewings by window and hash, then what {@link addHits} locks. */
export async function commitHits(
  hits: readonly Hit[],
  tx: Transaction,
  { name, repeatMs, calendar, now }: CommitTarget,
): Promise<void> {
  const counted: CountedHit[] = []
  const viewings = new Map<string, Viewing>()
  for (const { time, viewer, item } of hits) {
    const at = Math.min(time, now)
    if (viewer) {
      const windowStart = windowOf(at, repeatMs, calendar)
      const viewing = viewingOf(viewer, item)
      viewings.set(keyOf(windowStart, viewing), { windowStart, hash: viewing, item, at })
    } else {
      counted.push({ item, at })
    }
  }
  const sorted = [...viewings.values()].sort(
    (a, b) => a.windowStart - b.windowStart || a.hash.compare(b.hash),
  )
  for (const list of listsOf(sorted, tx)) counted.push(...(await enter(list, name, tx)))
  await addHits(tx, name, counted, calendar)
}

/**
 * Returns the start of the window of a moment. Windows are counted from the start of a day, and end
 * with it, because viewers get other hashes then. A window of a day is that day, however long.
 */
export function windowOf(at: number, repeatMs: number, calendar: Calendar): number {
  const start = calendar.startOfDay(calendar.dayOf(at))
  return repeatMs >= DAY_MS ? start : at - ((at - start) % repeatMs)
}

/** Hash of a viewer and an item, which reveals neither. */
function viewingOf(viewer: Buffer, item: string): Buffer {
  return hash('sha256', Buffer.concat([viewer, Buffer.from(item)]), 'buffer').subarray(
    0,
    VIEWING_BYTES,
  )
}

function keyOf(windowStart: number, viewing: Buffer): string {
  return `${windowStart} ${viewing.toString('latin1')}`
}

/**
 * Enters viewings and returns those that are new. Two transactions may enter one at the same time:
 * the second waits for the first, and finds 2 if that commits and 1 if it does not.
 */
async function enter(
  viewings: readonly Viewing[],
  name: string,
  tx: Transaction,
): Promise<Viewing[]> {
  await VIEWINGS.upsert(
    tx,
    viewings.map(({ windowStart, hash }) => [name, windowStart, hash, 1]),
  )
  const byWindow = new Map<number, Buffer[]>()
  for (const { windowStart, hash } of viewings) {
    byWindow.set(windowStart, [...(byWindow.get(windowStart) ?? []), hash])
  }
  const ofWindows = [...byWindow].map(
    ([windowStart, hashes]) => sql`(window_start = ${windowStart} AND viewing IN (${hashes}))`,
  )
  const { rows } = await execute(tx)`SELECT window_start, viewing FROM hits_viewings
    WHERE name = ${name} AND times = 1 AND (${joined(ofWindows, ' OR ')})`
  const fresh = new Set(
    rows.map(({ window_start: windowStart, viewing }) =>
      keyOf(Number(windowStart), viewing as Buffer),
    ),
  )
  return viewings.filter(({ windowStart, hash }) => fresh.has(keyOf(windowStart, hash)))
}
