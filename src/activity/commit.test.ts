import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Transaction } from '../database/database.js'
import { cpuMs, watchTurns } from '../../test/servers/longest-turn.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import { packDimensions } from './packed-dimensions.js'
import type { Visit } from './visit.js'

const LEAST_TURNS = 4
const COMMITS = 5
const NOW = Date.UTC(2026, 4, 17, 12)

/** A database that answers in the next turn, and keeps `keeps` of visits. */
function transactionOf(keeps: string): Transaction {
  return {
    dialect: 'mysql',
    maxStatementBytes: 16 * 2 ** 20,
    query: async (sql) => {
      await turn()
      return { rows: sql.includes('wide_cache_names') ? [{ keeps }] : [], affectedRows: 0 }
    },
    now: async () => NOW,
    beforeCommit: () => {},
  }
}

/** Ten seconds of a busy site, with values of four dimensions, frame by frame. */
function visitsOf(count: number): Visit[] {
  return Array.from({ length: count }, (_, i) => ({
    time: NOW - 10_000 + Math.floor(((i * 7919) % count) / 4),
    visitor: Buffer.from(String(i % 10_000).padStart(12, '0')),
    page: `/threads/${i % 500}`,
    dimensions: packDimensions(
      Object.entries({
        referrer: `www.site-${i % 200}.example`,
        campaign: `newsletter/email/${i % 30}`,
        country: `C${i % 60}`,
        device: i % 3 ? 'phone' : 'desktop',
      }).flat(),
    ),
  }))
}

test('a statement is made while the database is at the one before, and no further', async () => {
  const transaction = transactionOf('rows')
  let underWay = 0
  let most = 0
  const query: Transaction['query'] = async (sql, values) => {
    if (!/^INSERT INTO \W?activities\b/.test(sql)) return transaction.query(sql, values)
    most = Math.max(most, ++underWay)
    const answer = await transaction.query(sql, values)
    underWay--
    return answer
  }
  const visits = visitsOf(MAX_COMMIT_ROWS)
  await commitVisits(visits, { ...transaction, query }, { now: NOW, name: 'activity' })
  assert.deepEqual({ most, underWay }, { most: 2, underWay: 0 })
})

for (const keeps of ['rows', 'sums']) {
  test(`requests get turns while ${MAX_COMMIT_ROWS} visits are committed: ${keeps}`, async () => {
    const transaction = transactionOf(keeps)
    const shares: number[] = []
    const turns = watchTurns()
    for (let commit = 0; commit < COMMITS; commit++) {
      const visits = visitsOf(MAX_COMMIT_ROWS)
      await turn()
      turns.take()
      const before = cpuMs()
      await commitVisits(visits, transaction, { now: NOW, name: 'activity' })
      const took = cpuMs() - before
      shares.push(turns.take() / took)
    }
    turns.stop()
    // The garbage collector lengthens some. A share is the same on a slow or busy machine.
    assert(
      Math.min(...shares) < 1 / LEAST_TURNS,
      `longest turns, of the whole: ${shares.join(', ')}`,
    )
  })
}

test('a statement that fails, whichever it is, fails the commit', async () => {
  const transaction = transactionOf('rows')
  const commit = async (failing: number): Promise<number> => {
    let statements = 0
    const query: Transaction['query'] = async (sql, values) => {
      const statement = statements++
      const answer = await transaction.query(sql, values)
      if (statement === failing) throw new Error(`statement ${statement} fails`)
      return answer
    }
    await commitVisits(visitsOf(10), { ...transaction, query }, { now: NOW, name: 'activity' })
    return statements
  }
  const statements = await commit(-1)
  assert(statements > 5, `${statements}`)
  for (let failing = 0; failing < statements; failing++) {
    await assert.rejects(commit(failing), { message: `statement ${failing} fails` })
  }
})
