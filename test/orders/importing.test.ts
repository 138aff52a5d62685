import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type DaysToImport,
  importDays,
  ImportRefusedError,
  removeImport,
} from '../../src/activity/imported-days.js'
import type { Database, Transaction } from '../../src/database/database.js'
import { UTC } from '../../src/support/calendar.js'
import { explore, type Orders, type Ports } from '../simulated-world/explorer.js'
import { assertBooks, BOUNDS, commit, DAY, NAME, numberIn, START, visit } from './activity.js'

const VIEWS = 3

/** Days with two pages each: where bounds are three, each is a part of its own. */
function fileOf(id: string, ...days: readonly number[]): DaysToImport {
  const pages = new Map([
    ['/a', VIEWS - 1],
    ['/b', 1],
  ])
  const day = { line: 2, views: VIEWS, visitors: null, pages }
  const all = new Map(days.map((one) => [one, day]))
  return { name: NAME, id, days: all, calendar: UTC, today: DAY + 2 }
}

const runIn =
  ({ database }: { readonly database: Database }) =>
  <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    database.transaction(work)

/** Imports, and returns how many days it has added, and whether it was refused. */
async function imported(
  actor: Ports,
  file: DaysToImport,
): Promise<[added: number, refused: boolean]> {
  try {
    return [await importDays(runIn(actor), file), false]
  } catch (error) {
    if (!(error instanceof ImportRefusedError)) throw error
    return [error.added, true]
  }
}

/** Checks that each imported day is whole, and that there are so many of an import. */
function assertDays(orders: Orders, counts: Readonly<Record<string, number>>): void {
  const partly =
    'SELECT * FROM (SELECT day, views, (SELECT SUM(views) FROM activity_day_values AS v ' +
    'WHERE v.name = d.name AND v.day = d.day) AS listed FROM activity_days AS d ' +
    'WHERE imported IS NOT NULL) WHERE views <> COALESCE(listed, -1)'
  assert.deepEqual(orders.look(partly), [], 'a day is whole')
  const alone =
    'SELECT day FROM activity_day_values WHERE day NOT IN (SELECT day FROM activity_days)'
  assert.deepEqual(orders.look(alone), [], 'pages are of a day')
  for (const [id, count] of Object.entries(counts)) {
    const of = 'SELECT COUNT(*) AS n FROM activity_days WHERE imported = ?'
    assert.equal(numberIn(orders, of, [id]), count, `days of ${id}`)
  }
}

test('a file that two commands import at once is imported once', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    const file = fileOf('old', DAY - 2, DAY - 1)
    const added: number[] = []
    const command = (actor: Ports) => async () => added.push(await importDays(runIn(actor), file))
    await orders.together({ one: command(one), two: command(two) })
    assert.equal(added[0]! + added[1]!, 2, 'both together have added all')
    assertDays(orders, { old: 2 })
  }, BOUNDS)
})

test('a day of two files is of one import, and the other says what it has added', async () => {
  const refusals = new Set<number>()
  await explore(async (orders) => {
    const files = [fileOf('a', DAY - 4, DAY - 2), fileOf('b', DAY - 3, DAY - 2)] as const
    const counts: Record<string, number> = {}
    const command = (file: DaysToImport) => async () => {
      const [added, isRefused] = await imported(orders.actor(file.id), file)
      counts[file.id] = added
      if (isRefused) refusals.add(added)
      else assert.equal(added, 2)
    }
    await orders.together({ a: command(files[0]), b: command(files[1]) })
    assertDays(orders, counts)
    assert.equal(numberIn(orders, `SELECT COUNT(*) FROM activity_days WHERE day = ${DAY - 2}`), 1)
  }, BOUNDS)
  assert(refusals.has(0), 'one is refused before it has added a day')
})

test('a view beside an import counts on its day, or late after the imported ones', async () => {
  const found = new Set<string>()
  await explore(async (orders) => {
    const [writer, operator] = [orders.actor('writer'), orders.actor('operator')]
    let refused = false
    await orders.together({
      writer: () => commit(writer, [visit(START, 1)]),
      operator: async () => ([, refused] = await imported(operator, fileOf('old', DAY - 1, DAY))),
    })
    assertDays(orders, { old: refused ? 0 : 2 })
    const late = numberIn(orders, 'SELECT SUM(late) FROM activity_hours')
    const onItsDay = numberIn(
      orders,
      `SELECT SUM(views) FROM activity_hours WHERE hour / 24 = ${DAY}`,
    )
    assertBooks(orders, 1, [
      'a closed day is the sum of its hours',
      'a closed day has its visitors',
    ])
    found.add(`refused ${refused}, late ${late}, on its day ${onItsDay}`)
  }, BOUNDS)
  assert.deepEqual(
    found,
    new Set(['refused true, late 0, on its day 1', 'refused false, late 1, on its day 0']),
  )
})

test('an import beside the removal of its id leaves whole days alone', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    const file = fileOf('old', DAY - 2, DAY - 1)
    await orders.alone(() => importDays(runIn(one), file))
    let [added, removed] = [0, 0]
    await orders.together({
      one: async () => (added = await importDays(runIn(one), file)),
      two: async () => (removed = await removeImport(runIn(two), NAME, 'old')),
    })
    assertDays(orders, { old: 2 + added - removed })
  }, BOUNDS)
})

test('days that two commands remove at once are removed, and told, once', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await orders.alone(() => importDays(runIn(one), fileOf('old', DAY - 2, DAY - 1)))
    const removed: number[] = []
    const command = (actor: Ports) => async () =>
      removed.push(await removeImport(runIn(actor), NAME, 'old'))
    await orders.together({ one: command(one), two: command(two) })
    assert.equal(removed[0]! + removed[1]!, 2)
    assertDays(orders, { old: 0 })
  }, BOUNDS)
})
