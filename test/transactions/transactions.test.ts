/**
 * Entries of an export queue, and updates of a map, in a transaction of the site's own library. In
 * `npm run test:all` also of libraries that are installed for this test, from the npm registry.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { CollisionFreeMap } from '../../src/collision-free-map/index.js'
import { type Database, DatabaseError } from '../../src/database/database.js'
import { openDatabase } from '../../src/database/open.js'
import { ExportQueueIn } from '../../src/export-queue/export-queue.js'
import { ExportQueue, type RunSql } from '../../src/export-queue/index.js'
import { systemClock } from '../../src/support/clock.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { fewOrMany } from '../scale.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { onMariadb } from '../servers/mariadb.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../servers/shared.js'
import { wrapped } from '../servers/wrapped.js'

interface Library {
  readonly pool: RunSql
  close(): Promise<void>
  transaction(work: (run: RunSql) => Promise<void>): Promise<void>
}
type Open = (url: URL) => Promise<Library>

const HERE = fileURLToPath(new URL('libraries.js', import.meta.url))
/** Of the project itself, and those that are installed. */
const [OWN, INSTALLED] = [
  ['mysql2', 'pg'],
  fewOrMany<readonly string[]>([], ['knex', 'kysely', 'drizzle', 'typeorm', 'sequelize']),
]
const PACKAGES = ['knex', 'kysely', 'drizzle-orm', 'typeorm', 'sequelize', 'mysql2', 'pg']
const SERVERS = { MariaDB: sharedMysqlUrl, PostgreSQL: sharedPostgresUrl }
/** What quotes, escapes and placeholders of some library are made of. */
const HOSTILE = [`' OR 1 -- "x"`, 'a\\b\\', '\0 \x1a', '?? ? :a $1 @b', '%s \u{1f600} ẞ', '']

let folder: Promise<string> | undefined
after(async () => folder && removeFolder(await folder))

async function installed(): Promise<string> {
  const project = temporaryFolder('libraries')
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES]
  await promisify(execFile)('npm', args, { cwd: project })
  copyFileSync(HERE, join(project, 'libraries.js'))
  return project
}

async function open(library: string, url: string): Promise<Library> {
  const file = OWN.includes(library) ? HERE : join(await (folder ??= installed()), 'libraries.js')
  const { LIBRARIES } = (await import(pathToFileURL(file).href)) as {
    LIBRARIES: Readonly<Record<string, Open>>
  }
  return LIBRARIES[library]!(new URL(url))
}

/** A site whose queue keeps what it exports. */
async function withSite(
  library: string,
  url: string,
  work: (site: {
    readonly db: Library
    readonly queue: ExportQueueIn<string, unknown>
    exported(): Promise<unknown[]>
  }) => Promise<void>,
  environment = systemEnvironment,
): Promise<void> {
  const got: unknown[] = []
  const queue = new ExportQueueIn<string, unknown>(
    {
      database: url,
      name: 'mails',
      every: false,
      exporter: (entries) => void got.push(...entries.map(({ value }) => value)),
    },
    environment,
  )
  await queue.migrate()
  const db = await open(library, url)
  try {
    const exported = async (): Promise<unknown[]> => {
      await queue.process()
      return got.splice(0)
    }
    await work({ db, queue, exported })
  } finally {
    await Promise.all([queue.close(), db.close()])
  }
}

const refused = (work: Promise<unknown>, code: string): Promise<void> =>
  assert.rejects(work, (error) => {
    assert(error instanceof DatabaseError)
    assert.equal(error.code, code)
    assert(error.cause instanceof Error)
    return true
  })
class Undone extends Error {}
const undone = (): never => {
  throw new Undone()
}

for (const [server, urlOf] of Object.entries(SERVERS)) {
  const drivers = OWN.filter((driver) => (driver === 'pg') === (server === 'PostgreSQL'))
  for (const library of [...drivers, ...INSTALLED]) {
    describe(`${server}, ${library}:`, () => {
      test('an entry exists if and only if the transaction of the site commits', async () =>
        withSite(library, await urlOf(), async ({ db, queue, exported }) => {
          await db.transaction((run) => queue.add('a', 'kept', run))
          const rolledBack = db.transaction(async (run) => {
            await queue.add('a', 'lost', run)
            undone()
          })
          await assert.rejects(rolledBack, Undone)
          await db.transaction(async (run) => {
            await run('SAVEPOINT inner_work')
            await queue.add('a', 'lost', run)
            await run('ROLLBACK TO SAVEPOINT inner_work')
            await queue.add('a', 'kept too', run)
          })
          assert.deepEqual(await exported(), ['kept', 'kept too'])
        }))

      test('keys and values of any text come as they were', async () =>
        withSite(library, await urlOf(), async ({ db, queue, exported }) => {
          await db.transaction(async (run) => {
            for (const text of HOSTILE) await queue.add('key', { [text]: text }, run)
          })
          assert.deepEqual(
            await exported(),
            HOSTILE.map((text) => ({ [text]: text })),
          )
        }))

      test('outside a transaction, and in another database, nothing is added', async () =>
        withSite(library, await urlOf(), async ({ db, queue, exported }) => {
          await refused(queue.add('a', 1, db.pool), 'DATABASE_NO_TRANSACTION')
          assert.deepEqual(await exported(), [])
          const otherUrl = await urlOf()
          const emptyUrl = await urlOf()
          await withSite(library, otherUrl, async (other) => {
            const added = other.db.transaction((run) => queue.add('a', 1, run))
            await refused(added, 'DATABASE_OTHER')
            assert.deepEqual(await other.exported(), [])
          })
          const empty = await open(library, emptyUrl)
          try {
            const added = empty.transaction((run) => queue.add('a', 1, run))
            await refused(added, 'DATABASE_OTHER')
          } finally {
            await empty.close()
          }
          assert.deepEqual(await exported(), [])
        }))

      test('entries of four writers come in the order of the row that they change', async () =>
        withSite(library, await urlOf(), async ({ db, queue, exported }) => {
          await db.pool('CREATE TABLE balance (n INT)')
          await db.pool('INSERT INTO balance VALUES (0)')
          let n = 0
          const write = (): Promise<void> =>
            db.transaction(async (run) => {
              await run('UPDATE balance SET n = n + 1')
              await queue.add('balance', ++n, run)
            })
          const writer = async (): Promise<void> => {
            for (let i = 0; i < 40; i++) await write()
          }
          await Promise.all([writer(), writer(), writer(), writer()])
          assert.deepEqual(
            await exported(),
            Array.from({ length: 160 }, (_, i) => i + 1),
          )
        }))
    })
  }

  const [driver] = drivers as [string]
  test(`${server}: calls of one transaction that are not awaited add all their entries`, async () =>
    withSite(driver, await urlOf(), async ({ db, queue, exported }) => {
      const values = Array.from({ length: 20 }, (_, i) => i)
      await db.transaction(async (run) => {
        await Promise.all(values.map((n) => queue.add('a', n, (sql) => run(sql))))
      })
      assert.deepEqual(new Set(await exported()), new Set(values))
    }))

  test(`${server}: what could not be read of the database is read again`, async () => {
    const url = await urlOf()
    const { database } = openDatabase(url)
    const db = await open(driver, url)
    let fails = true
    const query: Database['query'] = (sql, values) =>
      fails && sql.startsWith('SELECT id FROM wide_cache_identity')
        ? Promise.reject(new Error('not read'))
        : database.query(sql, values)
    const queue = new ExportQueue({
      database: wrapped(database, { query }),
      name: 'mails',
      every: false,
      exporter: () => undefined,
    })
    try {
      await queue.migrate()
      const add = () => db.transaction((run) => queue.add('a', 1, run))
      await assert.rejects(add(), /not read/)
      fails = false
      await add()
      assert.equal(await queue.process(), 1)
    } finally {
      await Promise.all([queue.close(), db.close()])
      await database.close()
    }
  })

  test(`${server}: 20,000 updates of a map in one call count once`, async () => {
    const url = await urlOf()
    const map = new CollisionFreeMap({
      database: url,
      name: 'stock',
      every: false,
      combine: (_, sum = 0, updates) => updates.reduce((a, b) => a + b, sum),
    })
    await map.migrate()
    const db = await open(driver, url)
    try {
      const updates = Array.from({ length: 20_000 }, (_, i): [string, number] => [`${i % 7}`, 1])
      await db.transaction((run) => map.update(updates, run))
      assert.equal(await map.process(), 20_000)
      assert.equal(await map.get('0'), 2_858)
      const get = map.get('0', db.pool as never)
      await assert.rejects(get, { name: 'TypeError', message: /option "tx"/ })
    } finally {
      await Promise.all([map.close(), db.close()])
    }
  })

  test(`${server}: modes of SQL and isolation change nothing`, async () =>
    withSite(driver, await urlOf(), async ({ db, queue, exported }) => {
      const modes = {
        MariaDB: [
          'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE',
          "SET SESSION sql_mode = ''",
          "SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL'",
          // MySQL has no such modes.
          ...(onMariadb() ? ["SET SESSION sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL'"] : []),
        ],
        PostgreSQL: [
          'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE',
          'SET LOCAL standard_conforming_strings = off',
          "SET LOCAL bytea_output = 'escape'",
        ],
      }[server]!
      for (const mode of modes) {
        await db.transaction(async (run) => {
          await run(mode)
          for (const text of HOSTILE) await queue.add('a', text, run)
        })
        assert.deepEqual(await exported(), HOSTILE, mode)
        const added = withSite(driver, await urlOf(), (other) =>
          other.db.transaction(async (run) => {
            await run(mode)
            await queue.add('a', 1, run)
          }),
        )
        await refused(added, 'DATABASE_OTHER')
      }
    }))
}

test('what a function of another kind did wrong is said, and nothing is added', async () =>
  withSite('mysql2', await sharedMysqlUrl(), async ({ db, queue, exported }) => {
    const fails = (fields: object) => () => Promise.reject(Object.assign(new Error('no'), fields))
    const prepared = queue.add('a', 1, fails({ errno: 1295 }))
    await refused(prepared, 'DATABASE_STATEMENT_REFUSED')
    const wrapped = { code: 'P2010', meta: { code: '25P01' } }
    await refused(queue.add('a', 1, fails(wrapped)), 'DATABASE_NO_TRANSACTION')
    await assert.rejects(queue.add('a', 1, fails({ code: 'ER_LOCK_DEADLOCK' })), {
      name: 'Error',
      code: 'ER_LOCK_DEADLOCK',
    })
    await assert.rejects(queue.add('a', 1, (() => ({ sql: 'x' })) as never), {
      name: 'TypeError',
      message:
        /function that returns .*; allowed: a function that runs the SQL and returns its pro/,
    })
    await db.transaction((run) => queue.add('a', 2, run))
    assert.deepEqual(await exported(), [2])
  }))

/** Time goes by a thousand times as fast. */
const FAST = {
  ...systemEnvironment,
  clock: {
    ...systemClock,
    after: (ms: number, run: () => void) => systemClock.after(ms / 1000, run),
  },
}

test('a transaction that waits for a lock holds up no other', async () => {
  const work: Parameters<typeof withSite>[2] = async ({ db, queue, exported }) => {
    let answer = (): void => undefined
    const lock = new Promise<void>((resolve) => (answer = resolve))
    const waits = queue.add('a', 1, () => lock)
    try {
      await db.transaction((run) => queue.add('a', 2, run))
      assert.deepEqual(await exported(), [2])
    } finally {
      answer()
      await waits
    }
  }
  await withSite('mysql2', await sharedMysqlUrl(), work, FAST)
})

test('SQLite is refused: a SAVEPOINT begins a transaction there', async () => {
  const queue = new ExportQueue({
    database: 'sqlite::memory:',
    name: 'mails',
    every: false,
    exporter: () => undefined,
  })
  await assert.rejects(
    queue.add('a', 1, async () => undefined),
    {
      name: 'TypeError',
      message: /the export queue "mails" is in SQLite; allowed: with SQLite, the transaction that/,
    },
  )
  await queue.close()
})
