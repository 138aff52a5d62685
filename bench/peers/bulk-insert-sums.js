// The limit of whoever sums up what a page is to show: the same INSERTs, and in their transactions
// the views of each second and each hour, the visitors of each day, and the views of each page by
// the hour. No grid, no ledger.
import { open as openInserts, ROWS_A_STATEMENT } from './bulk-insert.js'
import { partsOf } from './pool.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SLICE_SECONDS = 300

export const open = (options) =>
  openInserts(options, async (connection, visits, name) => {
    const seconds = new Map()
    const hours = new Map()
    const visitors = new Map()
    const pages = new Map()
    const add = (sums, key) => sums.set(key, (sums.get(key) ?? 0) + 1)
    // In the order of time: the last one is the newest. A visitor's visits share one Buffer.
    for (const { time, visitor, page } of visits) {
      const hour = Math.floor(time / HOUR_MS)
      add(seconds, Math.floor(time / 1000))
      add(hours, hour)
      const day = Math.floor(time / DAY_MS)
      let ofDay = visitors.get(day)
      if (!ofDay) visitors.set(day, (ofDay = new Map()))
      const seen = ofDay.get(visitor)
      const bits = (seen?.bits ?? 0) | (1 << (hour % 24))
      ofDay.set(visitor, { second: Math.floor(time / 1000), bits })
      let ofHour = pages.get(hour)
      if (!ofHour) pages.set(hour, (ofHour = new Map()))
      add(ofHour, page)
    }
    const write = async (sql, rows, onDuplicate) => {
      for (const part of partsOf(rows, ROWS_A_STATEMENT)) {
        await connection.query(`${sql} VALUES ? ON DUPLICATE KEY UPDATE ${onDuplicate}`, [part])
      }
    }
    await write(
      'INSERT INTO activity_seconds (name, second, views)',
      [...seconds].map(([second, views]) => [name, second, views]),
      'views = views + VALUES(views)',
    )
    await write(
      'INSERT INTO activity_hours (name, hour, views, late)',
      [...hours].map(([hour, views]) => [name, hour, views, 0]),
      'views = views + VALUES(views)',
    )
    await write(
      'INSERT INTO activity_visitors (name, day, visitor, last_second, last_slice, hours)',
      [...visitors].flatMap(([day, ofDay]) =>
        [...ofDay]
          .sort(([a], [b]) => a.compare(b))
          .map(([visitor, { second, bits }]) => [
            name,
            day,
            visitor,
            second,
            Math.floor(second / SLICE_SECONDS),
            bits,
          ]),
      ),
      'last_second = GREATEST(last_second, VALUES(last_second)), ' +
        'last_slice = GREATEST(last_slice, VALUES(last_slice)), hours = hours | VALUES(hours)',
    )
    await write(
      'INSERT INTO activity_hour_values (name, dimension, hour, value, views)',
      [...pages].flatMap(([hour, ofHour]) =>
        [...ofHour].map(([page, views]) => [name, 'page', hour, Buffer.from(page), views]),
      ),
      'views = views + VALUES(views)',
    )
  })
