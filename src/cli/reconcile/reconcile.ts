/** `wide-cache reconcile`: compares the log of a web server with what was counted. */
import type { Writable } from 'node:stream'
import { checkedHistory } from '../../activity/ranges.js'
import { OTHER } from '../../activity/sums.js'
import { measureOf } from '../../page-views/measures.js'
import { type Calendar, type PeriodRange, UTC } from '../../support/calendar.js'
import { dayText } from '../../support/calendar-days.js'
import { csvRow } from '../../support/csv.js'
import { oneOf } from '../../support/options.js'
import { printableJson } from '../../support/printable.js'
import { activityNamed, withActivities } from '../activities.js'
import { type OptionsOf, UsageError } from '../arguments.js'
import type { CommandLog } from '../log.js'
import { compare, whyInPart } from './compare.js'
import { type Counted, readCounted } from './counted.js'
import { formatFor, SERVERS } from './fields.js'
import { eachLine } from './log-lines.js'
import { COMBINED_LIMITS, LIMITS, reportText } from './report.js'
import { Tally } from './tally.js'

/** Percent of lines that need not be read. */
const MAX_UNREAD = 1
/** Percent by which a day may differ. */
const DEFAULT_ALLOWED = 1
const FOUND = 1

/** Returns the exit status. @throws Error, TypeError, RangeError, UsageError, DatabaseError */
export async function reconcile(
  options: OptionsOf<'reconcile'>,
  log: CommandLog,
  out: Writable,
): Promise<number> {
  const { files, csv, json } = options
  if (options.format !== undefined) {
    if (files.length > 0) throw new UsageError('--format prints a format, and reads no file')
    out.write(formatFor(oneOf('format', options.format, SERVERS)))
    return 0
  }
  if (files.length === 0) throw new UsageError('reconcile wants files, or - for stdin')
  if (csv && json) throw new UsageError('--csv does not go with --json')
  const rangeOf = daysOf(options)
  const allowed = percentOf(options.allow)
  // All flags, before anything is opened.
  rangeOf(UTC)
  let status = 0
  await withActivities(options.database, log, async (database) => {
    const given = options.name ?? 'activity'
    const { name } = measureOf(csv ? given : await activityNamed(database, given))
    const counted = await readCounted(database, name, rangeOf)
    const { days, pages } = counted
    const tally = new Tally({
      ...counted,
      host: options.host?.toLowerCase(),
      // A page that a day does not list may be among its others.
      mayCount: (day, page, isCombined) =>
        pages.has(page) || (!isCombined && (csv || (days.get(day)?.pages.has('') ?? false))),
    })
    await eachLine(files, (line) => tally.add(line))
    const isRead = refuseUnread(tally, log)
    if (csv) {
      writeDays(tally, counted, log, out)
      status = isRead ? 0 : FOUND
      return
    }
    const comparison = compare(tally, counted)
    const { lines, hasCombined } = tally
    const limits = [...(hasCombined ? [COMBINED_LIMITS] : []), LIMITS]
    const { zone } = counted.calendar
    out.write(
      json
        ? `${printableJson({ name, zone, ...comparison, lines, limits })}\n`
        : reportText(comparison, lines, limits),
    )
    const agrees = comparison.days.every(({ difference }) => difference <= allowed)
    if (comparison.days.length === 0) {
      throw new Error('no day can be compared; the output has the reason for each')
    }
    status = agrees && isRead ? 0 : FOUND
  })
  return status
}

/** @throws UsageError */
function daysOf({ from, to }: OptionsOf<'reconcile'>): (calendar: Calendar) => PeriodRange {
  if (from === undefined) throw new UsageError('--from is missing')
  if (to === undefined) throw new UsageError('--to is missing')
  return (calendar) => {
    const { range } = checkedHistory({ from, to, by: 'day' }, calendar)
    if (range.to > range.from) return range
    throw new UsageError('--from and --to are one moment: --to is the end, such as the day after')
  }
}

/** @throws UsageError */
function percentOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_ALLOWED
  const percent = /^\d{1,3}(?:\.\d{1,3})?$/.test(text) ? Number(text) : NaN
  if (percent <= 100) return percent
  throw new UsageError('--allow wants percent, a number from 0 to 100')
}

/** Returns whether enough lines can be read. @throws Error if none can */
function refuseUnread({ lines }: Tally, log: CommandLog): boolean {
  const total = Object.values(lines).reduce((sum, count) => sum + count, 0)
  if (lines.unread === total) {
    throw new Error(
      'no line can be read: reconcile reads combined logs, the log of Caddy, and the formats ' +
        'that wide-cache reconcile --format prints',
    )
  }
  const isRead = (100 * lines.unread) / total <= MAX_UNREAD
  if (!isRead) log.warn(`wide-cache: ${lines.unread} of ${total} lines cannot be read`)
  return isRead
}

/** Prints the page views of the log, as `wide-cache import` takes them. */
function writeDays(tally: Tally, counted: Counted, log: CommandLog, out: Writable): void {
  out.write(csvRow(['day', 'page', 'pageViews']))
  for (const [number, ofDay] of counted.days) {
    const day = dayText(number)
    const why = whyInPart(number, ofDay, tally, counted)
    if (why !== undefined) log.warn(`wide-cache: ${day} is left out: ${why}`)
    else {
      for (const [page, views] of tally.days.get(number)?.pages ?? []) {
        out.write(csvRow([day, page || OTHER, views]))
      }
    }
  }
}
