/**
 * Promise 9 on real servers: grids of one name on one memcached never mix, whatever databases or
 * geometries they belong to.
 */
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../src/database/database.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { copySchema } from '../servers/copied-schema.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { temporaryFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const EACH_SECOND = '* * * * * *'
/** Longer than a writer waits before it asks how far its frames are settled. */
const CONFIRMED_MS = 11_000
/** Longer than a database that is in use goes without a new mark. */
const MARKED_MS = 12_000
/** Pattern of the log line about it. */
const ANOTHER_DATABASE = /another database/i

/** A place for rows, and how to make a copy of it, as a dump or a copied file would. */
interface Place {
  readonly sql: Database
  clone(): Promise<Database>
}

const places: [name: string, open: () => Promise<Place>][] = [
  [
    'MariaDB',
    async () => {
      const url = await sharedMysqlUrl()
      return {
        sql: mysql(url),
        async clone() {
          const copy = await sharedMysqlUrl()
          await copySchema(url, copy)
          return mysql(copy)
        },
      }
    },
  ],
  [
    'SQLite',
    async () => {
      const folder = temporaryFolder('two-databases')
      const sql = sqlite(join(folder, 'cloned.db'))
      return {
        sql,
        async clone() {
          const copy = join(folder, 'copy.db')
          await sql.query('VACUUM INTO ?', [copy])
          return sqlite(copy)
        },
      }
    },
  ],
]

describe('one memcached', { concurrency: true }, () => {
  for (const [place, open] of places) {
    test(`two databases (${place}) on one memcached and name: each gets its own rows`, async () => {
      const cache = `memcached://${await sharedMemcached()}`
      const name = uniqueName()
      const sql = [(await open()).sql, (await open()).sql] as const
      const wide = await Promise.all(
        sql.map(async (database) => {
          await createRecorded(database)
          return openRecorded({ cache, database, collect: EACH_SECOND }, { name })
        }),
      )
      try {
        for (let from = 0; from < 1000; from += 50) {
          for (const [writer, one] of wide.entries()) {
            for (const row of rowsOf(writer, from, from + 50)) one.append(row)
          }
          await delay(100)
        }
        // By then, writers have let go of what they believe to be in SQL.
        await delay(CONFIRMED_MS)
        const reports = await Promise.all(wide.map((one) => one.close()))
        for (const [writer, database] of sql.entries()) {
          await assertRecorded(database, rowsOf(writer, 0, 1000), `database ${writer}`)
          const reader = openRecorded({ cache, database, collect: false }, { name })
          assertLedger(await reader.ledger(), 1000)
          await reader.close()
        }
        if (reports.some(({ lost }) => lost > 0)) throw new Error('close() reports lost rows')
      } finally {
        await Promise.all(wide.map((one) => one.close()))
        await Promise.all(sql.map((database) => database.close()))
      }
    })

    test(`a clone (${place}) on one memcached gets only its own rows, and is logged`, async () => {
      const cache = `memcached://${await sharedMemcached()}`
      const name = uniqueName()
      const place = await open()
      await createRecorded(place.sql)
      const log = keptLog()
      const cloned = openRecorded(
        { cache, database: place.sql, collect: EACH_SECOND },
        { name, logger: log },
      )
      for (const row of rowsOf(0, 0, 300)) cloned.append(row)
      await eventually(
        'the first rows are collected',
        async () => (await countRecorded(place.sql)) === 300,
      )
      // The clone is of a moment in which nothing is under way.
      await delay(2_000)
      const copySql = await place.clone()
      // By then the cloned database has put a mark that the copy has not.
      await delay(MARKED_MS)
      const copy = openRecorded(
        { cache, database: copySql, collect: EACH_SECOND },
        { name, logger: log },
      )
      try {
        let number = 0
        const record = (): void => {
          for (const row of rowsOf(1, number, number + 20)) cloned.append(row)
          for (const row of rowsOf(2, number, number + 20)) copy.append(row)
          number += 20
        }
        for (let i = 0; i < 30; i++) {
          record()
          await delay(100)
        }
        let told: unknown
        await eventually(
          'the log tells of another database',
          () => log.matching(ANOTHER_DATABASE).length > 0,
        ).catch((error: unknown) => {
          told = error
        })
        for (let i = 0; i < 20; i++) {
          record()
          await delay(100)
        }
        await delay(CONFIRMED_MS)
        await Promise.all([cloned.close(), copy.close()])
        await assertRecorded(
          place.sql,
          [...rowsOf(0, 0, 300), ...rowsOf(1, 0, number)],
          'the cloned database',
        )
        await assertRecorded(copySql, [...rowsOf(0, 0, 300), ...rowsOf(2, 0, number)], 'the copy')
        for (const database of [place.sql, copySql]) {
          const reader = openRecorded({ cache, database, collect: false }, { name })
          assertLedger(await reader.ledger(), 300 + number)
          await reader.close()
        }
        if (told) throw told
      } finally {
        await Promise.all([cloned.close(), copy.close()])
        await Promise.all([place.sql.close(), copySql.close()])
      }
    })
  }

  test('other geometries fill grids of their own; one collector drains all', async () => {
    const cache = `memcached://${await sharedMemcached()}`
    const name = uniqueName()
    const sql = mysql(await sharedMysqlUrl())
    await createRecorded(sql)
    // None commits by itself within this test.
    const confirmSeconds = 120
    // A collector reads all cells of a new grid that could live, of which these have few.
    const grid = { name, confirmSeconds, cellTtlSeconds: 130 }
    const geometries = [
      { width: 15, layerSeconds: 1 },
      { width: 4, layerSeconds: 1 },
      { width: 15, layerSeconds: 2 },
    ]
    const writers = geometries.map((geometry) =>
      openRecorded({ cache, database: sql, collect: false }, { ...grid, ...geometry }),
    )
    const collector = openRecorded({ cache, database: sql, collect: EACH_SECOND }, grid)
    try {
      for (let from = 0; from < 300; from += 30) {
        for (const [writer, wide] of writers.entries()) {
          for (const row of rowsOf(writer, from, from + 30)) wide.append(row)
        }
        await delay(100)
      }
      await Promise.all(writers.map((wide) => wide.flush()))
      const all = writers.flatMap((_, writer) => rowsOf(writer, 0, 300))
      await eventually(
        'the one collector has drained the grids of all',
        async () => (await countRecorded(sql)) >= all.length,
      )
      await assertRecorded(sql, all)
      assertLedger(await collector.ledger(), all.length)
    } finally {
      await Promise.all([collector, ...writers].map((wide) => wide.close()))
      await sql.close()
    }
  })
})
