/**
 * Tests of migrating: by many processes at once, and with files that are wrong. They supplement the
 * suite of `wide-cache/testing` for the adapters of this repository, whose folder of migrations can
 * be chosen.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { wrapped } from '../../test/servers/wrapped.js'
import type { RegisterTest } from '../testing/runner.js'
import { rejects } from '../testing/rejects.js'
import { type Database, DatabaseError } from './database.js'
import { migrate, type Migratable } from './migrations.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

/** An adapter whose folder of migrations can be chosen. */
export type MigratableDatabase = Database &
  Migratable & {
    migrate(parts?: readonly string[], folder?: URL): Promise<void>
  }

export interface MigrationsUnderTest {
  readonly test: RegisterTest
  readonly name: string
  /** The URL of a new, empty database. */
  fresh(): Promise<string>
  open(url: string): MigratableDatabase
  /** Processes that migrate at once. */
  readonly processes: number
}

export function testMigrations({ test, name, fresh, open, processes }: MigrationsUnderTest): void {
  const it = (sentence: string, fn: (database: MigratableDatabase, url: string) => Promise<void>) =>
    test(`${name}: ${sentence}`, async () => {
      const url = await fresh()
      const database = open(url)
      try {
        await fn(database, url)
      } finally {
        await database.close()
      }
    })

  it(`${processes} processes apply each migration once`, async (database, url) => {
    await withMigrations(FILES, async (folder) => {
      await Promise.all(await migratingProcesses(processes, url, folder))
      const { rows } = await database.query(
        'SELECT part, version, name, applied_at FROM wide_cache_migrations ORDER BY version',
      )
      assert.deepEqual(
        rows.map(({ part, version, name }) => [part, version, name]),
        [
          ['part', 1, 'first'],
          ['part', 2, 'second'],
        ],
      )
      assert.ok(Math.abs(Number(rows[0]?.['applied_at']) - Date.now()) < 120_000)
      assert.deepEqual(await column(database, 'SELECT b FROM migrated'), ['once; only\n'])
      await database.migrate(['part'], folder)
      assert.deepEqual(await column(database, 'SELECT b FROM migrated'), ['once; only\n'])
    })
  })

  it('a database newer than the package is refused, naming both versions', async (database) => {
    await withMigrations(FILES, (folder) => database.migrate(['part'], folder))
    await withMigrations(FILES.slice(0, 1), async (folder) => {
      const error = await rejects(database.migrate(['part'], folder), 'usage', 'DATABASE_NEWER')
      assert.match(error.message, /at version 2, .* up to version 1.*Update the package/)
    })
  })

  it('processes go on that know what a newer migration asks of them', async (database) => {
    const third = (goOn: string) =>
      ['0003_third.sql', `${goOn}\nCREATE TABLE third (a INTEGER);\n`] as const
    const goOn = '-- Processes that know migration 0002 go on.'
    await withMigrations([...FILES, third(goOn)], async (folder) => {
      await database.migrate(['part'], folder)
      await database.migrate(['part'], folder)
    })
    await withMigrations(FILES, async (folder) => {
      await database.migrate(['part'], folder)
      await mkdir(new URL('other/', folder))
      await writeFile(new URL('other/0001_first.sql', folder), 'CREATE TABLE other (a INTEGER);')
      await database.migrate(['part', 'other'], folder)
    })
    await withMigrations(FILES.slice(0, 1), async (folder) => {
      const error = await rejects(database.migrate(['part'], folder), 'usage', 'DATABASE_NEWER')
      assert.match(error.message, /at version 3, .* up to version 1/)
    })
    assert.deepEqual(
      await column(database, 'SELECT oldest FROM wide_cache_migrations ORDER BY part, version'),
      [1, 1, 2, 2],
    )
  })

  it('a migration that names wrongly who goes on is refused before it runs', async (database) => {
    for (const line of [
      '-- Processes that know migration 0010 go on.',
      '-- processes that know migration 0001 may go on',
    ]) {
      const wrong = ['0003_third.sql', `${line}\nCREATE TABLE third (a INTEGER);\n`] as const
      await withMigrations([...FILES, wrong], async (folder) => {
        await assert.rejects(database.migrate(['part'], folder), /0003_third\.sql names wrongly/)
      })
    }
    await assert.rejects(database.query('SELECT a FROM third'))
  })

  it('a failed migration is not recorded, and is done when its cause is gone', async (database) => {
    const half = [
      '0001_first.sql',
      'CREATE TABLE IF NOT EXISTS migrated (a INTEGER, b VARCHAR(20));\nINSERT INTO missing ' +
        'VALUES (1);\n',
    ] as const
    await withMigrations([half], (folder) => rejects(database.migrate(['part'], folder), 'usage'))
    await withMigrations(FILES, (folder) => database.migrate(['part'], folder))
    assert.deepEqual(
      await column(database, 'SELECT version FROM wide_cache_migrations ORDER BY version'),
      [1, 2],
    )
  })

  it('a process that starts in the midst of a migration waits for its end', async (one, url) => {
    const other = open(url)
    try {
      await atEachStatement(async (part, folder, statement) => {
        let stop = () => {}
        const stopped = new Promise<void>((resolve) => (stop = resolve))
        let goOn = () => {}
        const held = new Promise<void>((resolve) => (goOn = resolve))
        const first = migrate(
          watched(one, async (number) => {
            if (number !== statement) return
            stop()
            await held
          }),
          folder,
          [part],
        )
        const isStopped = await Promise.race([first.then(() => false), stopped.then(() => true)])
        let enter = () => {}
        const entered = new Promise<void>((resolve) => (enter = resolve))
        const second = migrate(
          watched(other, async () => enter()),
          folder,
          [part],
        )
        if (isStopped) {
          const isEarly = await Promise.race([
            Promise.race([second, entered]).then(() => true),
            setTimeout(HEAD_START_MS, false),
          ])
          goOn()
          assert(!isEarly, `it waits at statement ${statement}`)
        }
        await Promise.all([first, second])
        await assertWhole(other, part)
        return isStopped
      })
    } finally {
      await other.close()
    }
  })

  it('a migration that is cut off at any statement is completed by the next', async (one, url) => {
    const other = open(url)
    try {
      await atEachStatement(async (part, folder, statement) => {
        let isCut = false
        const cut = migrate(
          watched(one, async (number) => {
            isCut = number === statement
            if (isCut) throw new DatabaseError('CUT_OFF', 'unreachable', 'cut off by the test')
          }),
          folder,
          [part],
        )
        if (statement === 1) await assert.rejects(cut, { code: 'CUT_OFF' })
        await cut.catch(() => undefined)
        await other.migrate([part], folder)
        await assertWhole(other, part)
        return isCut
      })
    } finally {
      await other.close()
    }
  })

  it('a gap, a repeated number or a wrong name of a migration file is a bug', async (database) => {
    for (const wrong of ['0003_gap.sql', '0001_again.sql', '2_short.sql', '0002_Name.sql']) {
      await withMigrations([FILES[0]!, [wrong, 'SELECT 1;']], (folder) =>
        assert.rejects(database.migrate(['part'], folder), { code: 'ERR_ASSERTION' }),
      )
    }
  })
}

const FILES: readonly (readonly [string, string])[] = [
  [
    '0001_first.sql',
    '-- a comment; with a semicolon\nCREATE TABLE IF NOT EXISTS migrated (\n  a INTEGER, -- ' +
      'the key\n  b VARCHAR(20)\n);\n',
  ],
  [
    '0002_second.sql',
    `INSERT INTO migrated (a, b) VALUES (1, 'once; only\n');\nCREATE INDEX migrated_a ON ` +
      'migrated (a); -- the end\n',
  ],
]

/** Time in which a process that does not wait would have begun. */
const HEAD_START_MS = 50

/**
 * Runs `work` for the first statement of a migration, then for the second and so on, until it
 * returns `false`. Each run has a part of its own.
 */
async function atEachStatement(
  work: (part: string, folder: URL, statement: number) => Promise<boolean>,
): Promise<void> {
  await withMigrations([], async (folder) => {
    let statement = 0
    for (let isReached = true; isReached;) {
      const part = `part${++statement}`
      await mkdir(new URL(`${part}/`, folder))
      for (const n of [1, 2]) {
        await writeFile(
          new URL(`${part}/000${n}_step.sql`, folder),
          `CREATE TABLE IF NOT EXISTS ${part}_${n} (a INTEGER);\n`,
        )
      }
      isReached = await work(part, folder, statement)
    }
    assert(statement > 5, 'it has been stopped')
  })
}

/** `database`, with `before` called before each statement of a migration, with its number. */
function watched(database: Migratable, before: (number: number) => Promise<void>): Migratable {
  let number = 0
  return {
    query: (sql, values) => database.query(sql, values),
    exclusively: (work) =>
      database.exclusively((queryable) =>
        work(
          wrapped(queryable, {
            query: async (sql, values) => {
              await before(++number)
              return queryable.query(sql, values)
            },
          }),
        ),
      ),
  }
}

async function assertWhole(database: Database, part: string): Promise<void> {
  const { rows } = await database.query(
    'SELECT version FROM wide_cache_migrations WHERE part = ? ORDER BY version',
    [part],
  )
  assert.deepEqual(
    rows.map(({ version }) => version),
    [1, 2],
  )
  for (const n of [1, 2]) await database.query(`SELECT a FROM ${part}_${n}`)
}

async function withMigrations(
  files: readonly (readonly [string, string])[],
  use: (folder: URL) => Promise<unknown>,
): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'wide-cache-sql-'))
  try {
    await mkdir(join(path, 'part'))
    for (const [name, text] of files) await writeFile(join(path, 'part', name), text)
    await use(pathToFileURL(`${path}/`))
  } finally {
    await rm(path, { recursive: true })
  }
}

/** Starts the processes, has them begin together, and returns their ends. */
async function migratingProcesses(
  count: number,
  url: string,
  folder: URL,
): Promise<Promise<void>[]> {
  const program = fileURLToPath(new URL('../../test/servers/migrating-process.ts', import.meta.url))
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [...TYPESCRIPT, program, url, folder.href], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(
    children.map((child) => Promise.race([once(child.stdout, 'data'), once(child, 'exit')])),
  )
  return children.map(async (child) => {
    const exit = once(child, 'exit')
    child.stdin.write('go\n')
    const [code] = await exit
    assert.equal(code, 0, 'a migrating process ends well')
  })
}

async function column(database: Database, sql: string): Promise<unknown[]> {
  const { rows } = await database.query(sql)
  return rows.map((row) => Object.values(row)[0])
}
