/** `wide-cache certificate`: the certificate of a day of an activity, as text on stdout. */
import type { Writable } from 'node:stream'
import { type ActivityCertificate, readCertificate } from '../activity/certificate.js'
import { recountsLine } from '../activity/certificate-line.js'
import { readCalendar } from '../activity/days.js'
import { dayNumber } from '../activity/ranges.js'
import { type Calendar, UTC } from '../support/calendar.js'
import { dayIn, dayText } from '../support/calendar-days.js'
import type { Logger } from '../support/logger.js'
import { activityNamed, withActivities } from './activities.js'
import type { OptionsOf } from './arguments.js'

/**
 * Resolves with whether the day balances, or was imported.
 *
 * @throws RangeError, UsageError for a day or flags that are wrong; what the database throws
 */
export async function printCertificate(
  options: OptionsOf<'certificate'>,
  logger: Logger,
  out: Writable,
): Promise<boolean> {
  const now = Date.now()
  // Before anything is opened.
  if (options.day !== undefined && dayIn(options.day) === undefined) {
    dayNumber('day', options.day, now, UTC)
  }
  let balanced = false
  await withActivities(options.database, logger, async (database) => {
    const name = await activityNamed(database, options.name)
    const calendar = await readCalendar(database, name)
    const day = dayNumber('day', options.day ?? dayText(calendar.dayOf(now)), now, calendar)
    const certificate = await readCertificate(database, name, day, await database.now())
    out.write(
      options.json
        ? `${JSON.stringify({ name, ...certificate })}\n`
        : asText(certificate, calendar),
    )
    balanced = certificate.balanced ?? true
  })
  return balanced
}

function asText(certificate: ActivityCertificate, calendar: Calendar): string {
  const { pageViews, visitors, late, allPageViews, ledger } = certificate
  const why = certificate.imported ? 'was imported' : 'has no page views'
  const lines: [string, string | number][] = [
    ['day', dayLine(certificate, calendar)],
    ['page views', pageViews],
    ['visitors', visitors ?? 'not known'],
    ['late', late],
    ['of all hours', allPageViews ?? `not certified, since the day ${why}`],
    ...Object.entries(ledger ?? {}),
    ['recounts', recountsLine(certificate)],
    ['balanced', { true: 'yes', false: 'no', null: 'not certified' }[`${certificate.balanced}`]],
    ...certificate.findings.map((finding): [string, string] => ['finding', finding]),
  ]
  return lines.map(([label, value]) => `${label.padEnd(14)}${value}\n`).join('')
}

function dayLine(
  { day, firstDay, closed, imported }: ActivityCertificate,
  { zone }: Calendar,
): string {
  if (imported) return `${day} (${zone}), imported: nothing was counted here`
  if (firstDay === null) {
    return `${day} (${zone}), nothing is known of it: there are no page views yet`
  }
  if (day < firstDay) {
    return `${day} (${zone}), nothing is known of it: the first page views are of ${firstDay}`
  }
  return `${day} (${zone}), ${closed ? 'closed' : 'open: as of now'}`
}
