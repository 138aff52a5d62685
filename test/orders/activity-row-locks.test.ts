/**
 * Laws of orders on MariaDB, whose transactions lock rows: what another one commits between two
 * statements of a transaction is neither lost nor taken for something older.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { closeDays } from '../../src/activity/day-closing.js'
import { removeValue } from '../../src/activity/remove-value.js'
import { recountRows } from '../../src/activity/hour-recount.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Database } from '../../src/database/database.js'
import { openDatabase } from '../../src/database/open.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { enterName } from '../../src/wide-cache/ledger/name-settings.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { CLOSING, commit, DAY, START, visit } from './activity.js'
import { atEachStatement, unlocked } from './each-statement.js'
import { hit, HitsActor } from './hits.js'

let database: Database
let other: Database

before(async () => {
  const url = await sharedMysqlUrl()
  database = openDatabase(url).database
  other = openDatabase(url).database
  await database.migrate()
})
after(() => Promise.all([database.close(), other.close()]))

/** The sum of a column, for a name. */
async function sumOf(column: string, table: string, name: string, more = ''): Promise<number> {
  const { rows } = await database.query(
    `SELECT COALESCE(SUM(${column}), 0) AS n FROM ${table} WHERE name = ? ${more}`,
    [name],
  )
  return Number(rows[0]?.['n'])
}

/** Checks that the rows of a name are the views of their seconds, and all have been counted. */
async function assertSums(name: string, views: number): Promise<void> {
  const { unequal } = await recountRows(database, name, START, START + 3_000)
  assert.equal(unequal, 0, `${name}: seconds with other rows`)
  assert.equal(await sumOf('views', 'activity_hours', name), views)
}

test('hits committed at any moment of a rename stay with their items', async () => {
  const hitsName = (statement: number) => `renamed${statement}`
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      const name = hitsName(statement)
      const site = new HitsActor({ database }, [name])
      await site.commit([hit('old'), hit('old'), hit('new')])
      const moved = await new HitsActor({ database: stopped }, [name]).move('old', 'new')
      assert([2, 4].includes(moved), `${moved} hits`)
    },
    (statement) => {
      const writer = new HitsActor({ database: other }, [hitsName(statement)])
      return unlocked(() => writer.commit([hit('old'), hit('new'), hit('old')]))
    },
  )
  assert(statements > 5)
  for (let statement = 1; statement <= statements; statement++) {
    const name = hitsName(statement)
    const [old = 0, renamed = 0] = await new HitsActor({ database }, [name]).counts('old', 'new')
    assert.equal(old + renamed, 6, `statement ${statement}`)
    for (const [item, hits] of [
      ['old', old],
      ['new', renamed],
    ] as const) {
      const where = `AND item = '${item}'`
      const sums = [
        await sumOf('hits', 'hits_hours', name, where),
        await sumOf('hits', 'hits_days', name, where),
      ]
      assert.deepEqual(sums, [hits, hits], `${item} at statement ${statement}`)
    }
  }
})

test('late visits committed at any moment of a removal keep rows and sums equal', async () => {
  const now = START + 2 * HOUR_MS
  const activityName = (statement: number) => `removed${statement}`
  const late = [visit(START, 3), visit(START + 1_000, 4)]
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      const name = activityName(statement)
      await commit({ database }, [visit(START, 1), visit(START + 2_000, 2)], now, name)
      await removeOldVisits(
        stopped,
        { now, name },
        { rowsMs: 0, valuesDays: 0, vanishedSeconds: 86_400 },
      )
    },
    (statement) => unlocked(() => commit({ database: other }, late, now, activityName(statement))),
  )
  assert(statements > 10)
  for (let statement = 1; statement <= statements; statement++) {
    await assertSums(activityName(statement), 4)
  }
})

test('views committed at any moment of the removal of a value are not lost', async () => {
  const activityName = (statement: number) => `value${statement}`
  const page = '/secret'
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      const name = activityName(statement)
      await commit({ database }, [visit(START, 1, page), visit(START, 2)], START, name)
      await removeValue(stopped, name, 'page', page)
    },
    (statement) =>
      unlocked(() =>
        commit({ database: other }, [visit(START, 3, page)], START, activityName(statement)),
      ),
  )
  assert(statements > 8)
  for (let statement = 1; statement <= statements; statement++) {
    const name = activityName(statement)
    await assertSums(name, 3)
    assert.equal(await sumOf('views', 'activity_hour_values', name), 3, `statement ${statement}`)
  }
})

test('visits committed while keep changes at any moment have rows, or are sums alone', async () => {
  const activityName = (statement: number) => `keep${statement}`
  const own = (name: string, keep: 'rows' | 'sums') => ({
    name,
    kind: 'activity',
    cellTtlSeconds: 3_600,
    directSeconds: 75,
    vanishedSeconds: 3_600,
    nameSettings: { keep: { value: keep, counts: 'last' as const } },
  })
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      await enterName(database, own(activityName(statement), 'rows'))
      await commit({ database: stopped }, [visit(START, 1)], START, activityName(statement))
    },
    (statement) => enterName(other, own(activityName(statement), 'sums')),
  )
  assert(statements > 6)
  for (let statement = 1; statement <= statements; statement++) {
    const name = activityName(statement)
    await assertSums(name, 1)
    const rows = await sumOf('1', 'activities', name)
    assert.equal(rows, 1 - (await sumOf('sums_only', 'activity_seconds', name)))
  }
})

test("visits committed at any moment of a day's closing count in their day, or late", async () => {
  const activityName = (statement: number) => `closed${statement}`
  const certified = new Map<number, string[]>()
  const closes = async (through: Database, statement: number): Promise<void> => {
    const days = certified.get(statement) ?? []
    certified.set(statement, days)
    await closeDays(through, activityName(statement), CLOSING, 3_600, ({ day, pageViews }) => {
      days.push([day, pageViews].join(' '))
    })
  }
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      await commit({ database }, [visit(START, 1)], CLOSING, activityName(statement))
      await closes(stopped, statement)
    },
    // Of the day that closes, and of the one before it; another collector closes, too.
    async (statement) => {
      const visits = [visit(START, 2), visit(START - DAY_MS, 3)]
      await unlocked(() => commit({ database: other }, visits, CLOSING, activityName(statement)))
      await unlocked(() => closes(other, statement))
    },
  )
  assert(statements > 10)
  for (let statement = 1; statement <= statements; statement++) {
    const name = activityName(statement)
    await closes(database, statement)
    const { rows: days } = await database.query(
      'SELECT day, views, visitors FROM activity_days WHERE name = ? ORDER BY day',
      [name],
    )
    const late = await sumOf('late', 'activity_hours', name, `AND hour >= ${(DAY + 1) * 24}`)
    const inDays = days.reduce((sum, { views }) => sum + Number(views), 0)
    assert.equal(inDays + late, 3, `at statement ${statement}`)
    for (const { views, visitors } of days) assert.equal(visitors, views)
    assert.equal(await sumOf('views', 'activity_day_values', name), inDays)
    assert.deepEqual(
      certified.get(statement)!.toSorted(),
      days.map(({ day, views }) =>
        [new Date(Number(day) * DAY_MS).toISOString().slice(0, 10), views].join(' '),
      ),
    )
  }
})

test('two first commits of a name, at any moment of each other, begin its books once', async () => {
  const activityName = (statement: number) => `books${statement}`
  const statements = await atEachStatement(
    database,
    (stopped, statement) =>
      commit({ database: stopped }, [visit(START, 1)], START, activityName(statement)),
    (statement) =>
      unlocked(() =>
        commit({ database: other }, [visit(START, 2)], START, activityName(statement)),
      ),
  )
  assert(statements > 6)
  for (let statement = 1; statement <= statements; statement++) {
    const name = activityName(statement)
    await assertSums(name, 2)
    assert.equal(await sumOf('views', 'activity_books', name), 2, `at statement ${statement}`)
    assert.equal(await sumOf('uncounted', 'activity_books', name), 0)
  }
})
