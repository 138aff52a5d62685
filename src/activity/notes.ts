/** Notes on days: what happened there, in the words of the site's owner. A day has at most one. */
import type { Database, Queryable } from '../database/database.js'
import { execute } from '../database/sql.js'
import { table } from '../database/table.js'
import { dayIn, dayText } from '../support/calendar-days.js'
import type { Note } from '../dashboard/source.js'
import { wrongType, wrongValue } from '../support/options.js'

/** Characters of a note. */
const MAX_NOTE = 200

const NOTES = table('activity_notes', ['name', 'day'], ['text', 'replace'])

/** A day, counted from 1970, and its note; `null`: none. @throws TypeError, RangeError */
export function checkedNote(day: unknown, text: unknown): readonly [number, string | null] {
  const allowed = 'a day such as "2026-05-17"'
  if (typeof day !== 'string') throw wrongType('day', day, allowed)
  const number = dayIn(day) ?? NaN
  if (!(number >= 0)) throw wrongValue('day', day, allowed)
  return [number, text === null ? null : checkedText(text)]
}

function checkedText(text: unknown): string {
  const allowed = `a text of 1 to ${MAX_NOTE} characters in one line, or null`
  if (typeof text !== 'string') throw wrongType('text', text, allowed)
  const trimmed = text.trim()
  const length = [...trimmed].length
  // Control characters, and surrogates that have lost their other half.
  if (length < 1 || length > MAX_NOTE || /[\p{Cc}\p{Cs}]/u.test(trimmed)) {
    throw wrongValue('text', text, allowed)
  }
  return trimmed
}

export async function writeNote(
  database: Database,
  name: string,
  day: number,
  text: string | null,
): Promise<void> {
  if (text !== null) return NOTES.upsert(database, [[name, day, text]])
  await execute(database)`DELETE FROM activity_notes WHERE name = ${name} AND day = ${day}`
}

/** The notes of the days from `from` up to, without, `to`. */
export async function readNotes(
  queryable: Queryable,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Note[]> {
  const { rows } = await execute(queryable)`SELECT day, text FROM activity_notes
    WHERE name = ${name} AND day >= ${from} AND day < ${to} ORDER BY day`
  return rows.map(({ day, text }) => ({ day: dayText(Number(day)), text: String(text) }))
}
