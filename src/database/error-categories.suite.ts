/**
 * Each category of error, provoked on the real database. What follows an error goes by its category
 * alone, so a wrong one loses rows, or repeats work for ever.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { rejects } from '../testing/rejects.js'
import type { Database, DatabaseErrorCategory, Queryable, SqlValue } from './database.js'
import type { Said } from './servers/said.js'

/** Something that a database refuses. */
export interface Refused {
  readonly what: string
  readonly category: DatabaseErrorCategory
  readonly code: string
  /** Runs before, alone. Resolves with the URL of the database to use. @default the same */
  readonly prepare?: (database: Database, url: string) => Promise<string | void>
  readonly run: (on: Queryable) => Promise<unknown>
  /** It is refused before anything is sent. */
  readonly isUnsent?: boolean
}

interface CategoriesAdapter {
  readonly name: string
  /** Returns the URL of a new, empty database. */
  fresh(): Promise<string>
  open(url: string): Database
  /** Codes of what every database refuses, by {@link COMMON}. */
  readonly codes: Readonly<Record<string, string>>
  /** Statements that make a trigger, which refuses each row. */
  readonly trigger: readonly string[]
  /** What only this database refuses. */
  readonly own: readonly Refused[]
  /** All that the server can say. */
  readonly said: readonly Said[]
  /** First codes of the rows that other tests provoke, or that nothing here can provoke. */
  readonly elsewhere: readonly string[]
}

const insert = (id: SqlValue, n: SqlValue, name: SqlValue) => (on: Queryable) =>
  on.query('INSERT INTO kinds VALUES (?, ?, ?)', [id, n, name])

/** All have a value that no message may show. */
const COMMON: readonly Omit<Refused, 'code'>[] = [
  { what: 'a key that exists', category: 'data', run: insert(1, 1, 's3cret') },
  { what: 'NULL', category: 'data', run: insert(2, null, 's3cret') },
  { what: 'what a CHECK refuses', category: 'data', run: insert(2, 1_000, 's3cret') },
  { what: 'a number out of range', category: 'data', run: insert(2, 3_000_000_000, 's3cret') },
  { what: 'text for a number', category: 'data', run: insert(2, 's3cret', 'x') },
  { what: 'a refusal of a trigger', category: 'data', run: insert(2, 1, 's3cret') },
  {
    what: 'a missing table',
    category: 'usage',
    run: (on) => on.query('SELECT n FROM missing WHERE n = ?', ['s3cret']),
  },
  {
    what: 'a missing column',
    category: 'usage',
    run: (on) => on.query('SELECT missing FROM kinds WHERE name = ?', ['s3cret']),
  },
  {
    what: 'wrong SQL',
    category: 'usage',
    run: (on) => on.query('SELECT n FROM kinds WHERE WHERE name = ?', ['s3cret']),
  },
]

/** Registers the tests. */
export function testErrorCategories(adapter: CategoriesAdapter): void {
  const { name, codes, trigger, said, elsewhere } = adapter
  describe(`${name}: categories of errors`, () => {
    const opened: Database[] = []
    after(() => Promise.all(opened.map((database) => database.close())))
    const open = (url: string): Database => {
      const database = adapter.open(url)
      opened.push(database)
      return database
    }
    const all = [...COMMON.map((one) => ({ ...one, code: codes[one.what]! })), ...adapter.own]
    for (const { what, category, code, prepare, run, isUnsent = false } of all) {
      test(`${what} has category ${category}, alone and in a transaction`, async () => {
        const url = await adapter.fresh()
        const first = open(url)
        await first.query(
          'CREATE TABLE kinds (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, name VARCHAR(9), ' +
            'CHECK (n < 1000))',
        )
        await insert(1, 1, 'first')(first)
        if (what === 'a refusal of a trigger') for (const sql of trigger) await first.query(sql)
        const used = await prepare?.(first, url)
        const database = used === undefined ? first : open(used)
        const alone = await rejects(run(database), category, code)
        assert.equal(alone.unsent, isUnsent)
        const row = rowOf(said, code)
        if (row) assert(alone.message.endsWith(remedyFor(row, used ?? url)), alone.message)
        const work = database.transaction(async (tx) => {
          await tx.query('SELECT n FROM kinds')
          await run(tx)
        })
        await rejects(work, category, code)
        const { rows } = await first.query('SELECT id, name FROM kinds')
        assert.deepEqual(rows, [{ id: 1, name: 'first' }])
      })
    }

    test('each row of what the server can say is provoked, but for those named', () => {
      const provoked = all.map(({ code }) => rowOf(said, code))
      assert.deepEqual(
        said.filter((row) => !provoked.includes(row)).map((row) => row.codes[0]),
        elsewhere,
      )
    })
  })
}

/** The row of the code, or of the longest code that it begins with. */
function rowOf(said: readonly Said[], code: string): Said | undefined {
  const begins = (row: Said) =>
    row.codes.some((one) => code.startsWith(/^\w\w$/.test(one) ? one : `${one}_`))
  return said.find(({ codes }) => codes.includes(code)) ?? said.find(begins)
}

function remedyFor({ remedy }: Said, url: string): string {
  const schema = URL.canParse(url) ? new URL(url).pathname.slice(1) : ''
  return remedy.replace('%', () => schema)
}
