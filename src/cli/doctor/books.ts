/** Checks of activities: their certificates, and the rows of sampled seconds. */
import { readCertificate } from '../../activity/certificate.js'
import { readCalendar } from '../../activity/days.js'
import { recountRows } from '../../activity/hour-recount.js'
import type { Database } from '../../database/database.js'
import { execute } from '../../database/sql.js'
import { type Finding, findingsOf } from './finding.js'

/** Samples that are recounted, of so many seconds each, out of the time that rows are kept. */
const SAMPLES = 20
const SAMPLE_SECONDS = 10

/** Number of days: today, yesterday, and the day before, which has closed. */
const DAYS = 3

/** Checks whether the books of each activity balance. */
export async function checkBooks(database: Database): Promise<Finding[]> {
  const { ok, error } = findingsOf('books')
  const { rows } = await execute(database)`SELECT name FROM activity_books ORDER BY name`
  const names = rows.map((row) => String(row['name']))
  const findings: Finding[] = []
  for (const name of names) {
    for (const finding of await findingsOfDays(database, name)) {
      findings.push(error(`"${name}": ${finding}`, 'docs/certificates.md says how to repair it'))
    }
    for (const finding of await findingsOfRows(database, name)) {
      findings.push(
        error(
          `"${name}": ${finding}`,
          'somebody or something has changed the tables: see docs/certificates.md',
        ),
      )
    }
  }
  if (findings.length > 0 || names.length === 0) return findings
  return [ok(`the books of ${names.join(', ')} balance, and sampled seconds have their rows`)]
}

/** Returns the findings of the certificates of the last days. */
async function findingsOfDays(database: Database, name: string): Promise<string[]> {
  const now = await database.now()
  const today = (await readCalendar(database, name)).dayOf(now)
  const found: string[] = []
  for (let number = today; number > today - DAYS; number--) {
    const { day, findings } = await readCertificate(database, name, number, now)
    for (const finding of findings) found.push(`${day}: ${finding}`)
  }
  return found
}

/** Returns the first difference. */
async function findingsOfRows(database: Database, name: string): Promise<string[]> {
  const { rows } = await execute(database)`SELECT MIN(second) AS oldest, MAX(second) AS newest
    FROM activity_seconds WHERE name = ${name}`
  const [oldest, newest] = [Number(rows[0]?.['oldest'] ?? 0), Number(rows[0]?.['newest'] ?? 0)]
  for (let sample = 0; sample < SAMPLES; sample++) {
    const from = 1000 * (oldest + Math.floor(Math.random() * (newest - oldest + 1)))
    const found = await recountRows(database, name, from, from + 1000 * SAMPLE_SECONDS)
    if (found.unequal > 0) {
      const time = new Date(from).toISOString()
      return [
        `${found.rows} rows are there of ${SAMPLE_SECONDS} s from ${time} on, and sums of ` +
          String(found.views),
      ]
    }
  }
  return []
}
