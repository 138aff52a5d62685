import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonCodec } from '../../src/support/exact-json.js'
import type { Database } from '../../src/database/database.js'
import type { Frame } from '../../src/wide-cache/frame.js'
import {
  dropFrame,
  framesInQuarantine,
  type QuarantinedFrame,
  retryFrame,
} from '../../src/wide-cache/ledger/quarantined-frames.js'
import { ledgerReport } from '../../src/wide-cache/ledger/report.js'
import { removeOldEntries } from '../../src/wide-cache/ledger/retention.js'
import { KIND, Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import { settle } from '../../src/wide-cache/ledger/settle.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import { type Parts, partsOf } from './parts.js'
import { committed, commitTexts, emptyTable, NAME, REFUSED } from './wide-cache.js'

const WRITER = Buffer.alloc(16, 1)
const DAY_MS = 24 * 3600 * 1000
const MONTH_MS = 31 * DAY_MS

function settleAll(parts: Parts, frames: readonly Frame[]) {
  return settle(parts.ledger, frames, parts.logger)
}

function report(orders: Orders) {
  const { database } = orders.actor('reader')
  return orders.alone(() => ledgerReport(database, NAME, () => undefined))
}

/** Sums of the ledger that are not 0. */
async function sums(orders: Orders): Promise<Record<string, number>> {
  const entries = Object.entries(await report(orders))
  return Object.fromEntries(entries.filter(([, sum]) => sum !== 0))
}

test('frames that two processes commit at once are committed once', async () => {
  await explore(async (orders) => {
    emptyTable(orders)
    const [collector, writer] = [
      partsOf(orders.actor('collector')),
      partsOf(orders.actor('writer')),
    ]
    const sender = new Sender(WRITER)
    const frames = [0, 1, 2].map((n) => sender.frame(n, { rows: [`row ${n}`] }))
    // Frame 2 is above the prefix, in a range.
    await orders.alone(() => settleAll(writer, [frames[2]!]))
    const said: number[] = []
    const note = async (parts: Parts, some: readonly Frame[]) =>
      said.push((await settleAll(parts, some)).committed)
    await orders.together({
      collector: () => note(collector, frames),
      writer: () => note(writer, frames.slice(0, 2)),
    })
    assert.deepEqual(committed(orders), ['row 0', 'row 1', 'row 2'])
    assert.equal(said[0]! + said[1]!, 2)
    assert.deepEqual(await sums(orders), { issued: 3, committed: 3, duplicate: 3 })
  })
})

test('sums of a writer that arrive after newer ones change nothing', async () => {
  await explore(
    async (orders) => {
      emptyTable(orders)
      const [collector, writer] = [
        partsOf(orders.actor('collector')),
        partsOf(orders.actor('writer')),
      ]
      const sender = new Sender(WRITER)
      const enter = (issued: number, dropped: number) => () =>
        writer.ledger.enterTotals(NAME, { writer: WRITER, issued, dropped })
      const frame = sender.frame(0, { dropped: 1 })
      await orders.together({
        collector: () => settleAll(collector, [frame]),
        early: enter(1, 0),
        late: enter(2, 2),
      })
      assert.deepEqual(await sums(orders), { issued: 4, committed: 1, dropped: 2, outstanding: 1 })
    },
    { preemptions: 1 },
  )
})

test('a writer that returns while old ones are forgotten is not forgotten', async () => {
  await explore(async (orders) => {
    emptyTable(orders)
    const [chores, writer] = [partsOf(orders.actor('chores')), partsOf(orders.actor('writer'))]
    const sender = new Sender(WRITER)
    await orders.alone(() => settleAll(writer, [sender.frame(0)]))
    await orders.pass(MONTH_MS)
    await orders.together({
      chores: async () => removeOldEntries(chores.database, NAME, await chores.database.now()),
      writer: () => settleAll(writer, [sender.frame(1)]),
    })
    const rows = orders.look('SELECT 1 FROM wide_cache_writers WHERE writer = ?', [WRITER])
    assert.equal(rows.length, 1, 'the writer has come back')
    assert.equal((await report(orders)).committed, 2)
    assert.equal(committed(orders).length, 2)
  })
})

/** Has several deal with a frame in quarantine at once, and returns the sums after that. */
async function withQuarantined(
  orders: Orders,
  works: (frame: QuarantinedFrame) => Record<string, () => Promise<unknown>>,
): Promise<Record<string, number>> {
  emptyTable(orders)
  const parts = partsOf(orders.actor('operator'))
  const refused = new Sender(WRITER).frame(0, { rows: ['a', REFUSED] })
  await orders.alone(() => settleAll(parts, [refused]))
  await orders.pass(MONTH_MS)
  const [frame] = await orders.alone(() =>
    framesInQuarantine(parts.database, { name: NAME, limit: 10 }),
  )
  await orders.together(works(frame!))
  return sums(orders)
}

/** Commits what was refused before. */
const REPAIRED = {
  kind: KIND,
  codec: jsonCodec<string>(),
  commit: (rows: string[], tx: Parameters<typeof commitTexts>[1]) =>
    commitTexts(
      rows.map((row) => `now ${row}`),
      tx,
    ),
}

/** Each of those who may deal with a frame in quarantine. */
const DEALERS = {
  retries: (database: Database, frame: QuarantinedFrame) => retryFrame(database, frame, REPAIRED),
  drops: dropFrame,
  removes: async (database: Database) =>
    removeOldEntries(database, NAME, await database.now()).then(() => undefined),
}

for (const pair of [
  ['retries', 'drops'],
  ['retries', 'removes'],
  ['drops', 'removes'],
] as const) {
  test(`of one who ${pair.join(' a quarantined frame and one who ')} it, one does it`, async () => {
    await explore(async (orders) => {
      const said: (number | undefined)[] = []
      const deal = (name: keyof typeof DEALERS, frame: QuarantinedFrame) => async () => {
        said.push(await DEALERS[name](orders.actor(name).database, frame))
      }
      const [one, two] = pair
      const found = await withQuarantined(orders, (frame) => ({
        [one]: deal(one, frame),
        [two]: deal(two, frame),
      }))
      const { issued, committed: sum = 0, lost = 0, quarantined = 0 } = found
      assert.deepEqual([issued, sum, lost + quarantined + sum], [2, committed(orders).length, 2])
      assert.equal(said.includes(2), quarantined === 0)
      assert.equal(said.filter((rows) => rows === 2).length <= 1, true)
      assert.equal(orders.look('SELECT 1 FROM wide_cache_quarantine').length, 0)
    })
  })
}
