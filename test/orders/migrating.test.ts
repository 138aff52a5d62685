/** Two processes migrate at once: one between any two steps of the other. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Database, Queryable } from '../../src/database/database.js'
import { type Migratable, migrate } from '../../src/database/migrations.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { wrapped } from '../servers/wrapped.js'

/** Time that the other process gets, of which it waits for the lock of the first. */
const HEAD_START_MS = 100

/** None of their statements may run twice. */
const FILES = [
  ['0001_first.sql', 'CREATE TABLE steps (step INTEGER NOT NULL);\n'],
  ['0002_second.sql', 'INSERT INTO steps VALUES (2);\nINSERT INTO steps VALUES (3);\n'],
] as const

const folder = temporaryFolder('migrating')
after(() => removeFolder(folder))
mkdirSync(join(folder, 'part'))
for (const [file, text] of FILES) writeFileSync(join(folder, 'part', file), text)
const migrations = pathToFileURL(`${folder}/`)
let files = 0

const SERVERS: readonly {
  readonly name: string
  readonly fresh: () => Promise<string>
  readonly open: (url: string) => Database & Migratable
}[] = [
  {
    name: 'SQLite',
    fresh: async () => join(folder, `${files++}.db`),
    open: (file) => new SqliteDatabase(file),
  },
  { name: 'MariaDB', fresh: sharedMysqlUrl, open: (url) => new MysqlDatabase(url) },
]

/** `database`, with `before` called before each of its steps. */
function watched(database: Migratable, before: () => Promise<void>): Migratable {
  const query =
    (on: Pick<Queryable, 'query'>): Queryable['query'] =>
    async (...statement) => {
      await before()
      return on.query(...statement)
    }
  return {
    query: query(database),
    exclusively: async (work) => {
      await before()
      return database.exclusively((queryable) =>
        work(wrapped(queryable, { query: query(queryable) })),
      )
    },
  }
}

for (const { name, fresh, open } of SERVERS) {
  test(`${name}: each migration is applied once, whenever another process migrates`, async () => {
    let [step, isOver] = [0, false]
    while (!isOver) {
      step++
      const url = await fresh()
      const [one, other] = [open(url), open(url)]
      let number = 0
      let migrating: Promise<void> | undefined
      try {
        const stopped = watched(one, async () => {
          if (++number !== step) return
          migrating = migrate(other, migrations, ['part'])
          await Promise.race([migrating, delay(HEAD_START_MS)])
        })
        await migrate(stopped, migrations, ['part'])
        await migrating
        const { rows: applied } = await one.query(
          'SELECT version FROM wide_cache_migrations ORDER BY version',
        )
        assert.deepEqual(applied, [{ version: 1 }, { version: 2 }], `step ${step}`)
        const { rows: steps } = await one.query('SELECT step FROM steps ORDER BY step')
        assert.deepEqual(steps, [{ step: 2 }, { step: 3 }], `step ${step}`)
        isOver = migrating === undefined
      } finally {
        await Promise.all([one.close(), other.close()])
      }
    }
    assert(step > 8)
  })

  test(`${name}: who has changed tables lets the next one, and keeps its connection`, async () => {
    const url = await fresh()
    const [one, other] = [open(url), open(url)]
    try {
      const steps: string[] = []
      const first = one.exclusively(async () => {
        steps.push('one begins')
        const second = other.exclusively(async () => void steps.push('other begins'))
        await Promise.race([second, delay(HEAD_START_MS)])
        steps.push('one ends')
        return { second }
      })
      await (
        await first
      ).second
      await one.query('SELECT 1')
      assert.deepEqual(steps, ['one begins', 'one ends', 'other begins'])
    } finally {
      await Promise.all([one.close(), other.close()])
    }
  })
}
