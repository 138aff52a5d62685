/**
 * Laws of a sequence's row on MariaDB: whatever another process does between two statements of a
 * transaction, no number belongs to two generations.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PreparedDatabase } from '../../src/connections/prepared-database.js'
import type { Database } from '../../src/database/database.js'
import { openDatabase } from '../../src/database/open.js'
import { GenerationRecord } from '../../src/sequence/generation-record.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { atEachStatement } from './each-statement.js'

const BLOCK = 100
const TOKEN = Buffer.alloc(16, 1)

let database: Database
let other: Database

before(async () => {
  const url = await sharedMysqlUrl()
  database = openDatabase(url).database
  other = openDatabase(url).database
  await database.migrate(['sequence'])
})
after(() => Promise.all([database.close(), other.close()]))

function recordOf(name: string, through: Database): GenerationRecord {
  const prepared = new PreparedDatabase(through, ['sequence'], systemEnvironment)
  return new GenerationRecord(prepared, name, BLOCK, 1)
}

test('numbers taken at any moment of an opening are not in the next generation', async () => {
  const taken = new Map<number, number>()
  const sequenceName = (statement: number) => `opened${statement}`
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      const record = recordOf(sequenceName(statement), stopped)
      await record.read()
      await record.open(0, TOKEN)
    },
    async (statement) => {
      const record = recordOf(sequenceName(statement), other)
      await record.read()
      const found = await record.take(0, 5)
      taken.set(statement, found ? found.first + found.count - 1 : 0)
    },
  )
  assert(statements > 3)
  for (let statement = 1; statement <= statements; statement++) {
    const newest = await recordOf(sequenceName(statement), database).read()
    assert.equal(newest.generation, 1)
    const last = taken.get(statement)!
    assert.deepEqual([newest.base, newest.reserved], [last, last + BLOCK], `at ${statement}`)
  }
})

test('a reserve raised at any moment of an opening is below the next generation', async () => {
  const raised = new Map<number, boolean>()
  const sequenceName = (statement: number) => `raised${statement}`
  const statements = await atEachStatement(
    database,
    async (stopped, statement) => {
      const record = recordOf(sequenceName(statement), database)
      await record.read()
      await record.open(0, TOKEN)
      await recordOf(sequenceName(statement), stopped).open(1, TOKEN)
    },
    async (statement) => {
      raised.set(statement, await recordOf(sequenceName(statement), other).raise(1, 1_000))
    },
  )
  assert(statements > 1)
  for (let statement = 1; statement <= statements; statement++) {
    const newest = await recordOf(sequenceName(statement), database).read()
    assert.equal(newest.generation, 2)
    assert.equal(newest.base, raised.get(statement) ? 1_000 : BLOCK, `at ${statement}`)
  }
})

test('of two that take numbers from the row at once each has its own', async () => {
  const taken = new Map<number, number[]>()
  const takes = async (statement: number, through: Database): Promise<void> => {
    const record = recordOf(`taken${statement}`, through)
    await record.read()
    const { first, count } = (await record.take(0, 5))!
    const numbers = Array.from({ length: count }, (_, i) => first + i)
    taken.set(statement, [...(taken.get(statement) ?? []), ...numbers])
  }
  const statements = await atEachStatement(
    database,
    (stopped, statement) => takes(statement, stopped),
    (statement) => takes(statement, other),
  )
  assert(statements > 3)
  for (let statement = 1; statement <= statements; statement++) {
    const numbers = taken.get(statement)!.toSorted((a, b) => a - b)
    assert.deepEqual(
      numbers,
      Array.from({ length: numbers.length }, (_, i) => i + 1),
      `at statement ${statement}`,
    )
  }
})
