/**
 * Space of a site's visits, and of what stays of them, on the disk: measured by the part `drain`.
 */
import { number } from '../harness/table.js'
import { BYTES, STORAGE } from '../parts/drain.js'
import { columnsOf, settingsOf, tableOf, type Tables } from './measured.js'

const SECONDS_A_DAY = 86_400
const RATES = [10, 100, 1_000]
const MIB = 2 ** 20

/** Assumed visits of a visitor in a day, and different values of all dimensions. */
const VISITS_A_VISITOR = 10
const VALUES_AN_HOUR = 800
const VALUES_A_DAY = 1_300

const YEAR = 'a year'

/** Tables with the number of their rows at a rate of visits. */
const KEPT: readonly (readonly [
  table: string,
  kept: string,
  rows: (visitsASecond: number) => number,
])[] = [
  ['activities', '24 hours', (rate) => rate * SECONDS_A_DAY],
  ['activity_seconds', '24 hours', () => SECONDS_A_DAY],
  ['activity_visitors', '24 hours', (rate) => (rate * SECONDS_A_DAY) / VISITS_A_VISITOR],
  ['activity_hour_values', '8 days', () => 8 * 24 * VALUES_AN_HOUR],
  ['activity_hours', YEAR, () => 365 * 24],
  ['activity_days', YEAR, () => 365],
  ['activity_day_values', YEAR, () => 365 * VALUES_A_DAY],
]

export const tables: Tables = {
  storage: tableOf('drain', (measured) =>
    KEPT.filter(([table]) => settingsOf(measured, table).includes(STORAGE)).map(
      ([table, kept, rows]) => {
        const bytes = measured.samples.spread(table, STORAGE, BYTES).median
        const mebibytes = (rate: number): string => number((rows(rate) * bytes) / MIB)
        return {
          table: `\`${table}\``,
          'bytes a row': number(Math.round(bytes)),
          'rows of': kept,
          ...columnsOf(RATES, (rate) => [`MiB at ${number(rate)} visits/s`, mebibytes(rate)]),
        }
      },
    ),
  ),
}
