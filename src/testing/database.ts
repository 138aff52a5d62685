/**
 * Tests that every adapter of the Database port must pass: one suite for all of them, also for
 * those of other packages. It needs only `node:assert`.
 */
import type { Database } from '../database/database.js'
import { testClosing } from './database-closing.js'
import { testConflicts } from './database-conflicts.js'
import { testDialect } from './database-dialect.js'
import { testLimits } from './database-limits.js'
import { testMigrating } from './database-migrating.js'
import { testTransactions } from './database-transactions.js'
import { testUnreachable } from './database-unreachable.js'
import { testValues } from './database-values.js'
import type { DatabaseTest } from './on-database.js'
import type { RegisterTest } from './runner.js'

/** Abilities and limits of a database that the port leaves open. */
export interface DatabaseCapabilities {
  /** The type of a column for text of up to 1,024 characters. @default 'VARCHAR(1024)' */
  readonly textType?: string | undefined
  /** The type of a column for 60,000 bytes. @default 'BLOB' */
  readonly binaryType?: string | undefined
  /** Text keeps a NUL character; otherwise it has U+FFFD in its place. @default true */
  readonly keepsNul?: boolean | undefined
  /**
   * Refuses statements with `DATABASE_QUEUE_FULL` while 1,000 others wait. @default true
   */
  readonly boundsQueue?: boolean | undefined
  /**
   * Opens a database that cannot be reached. @default none: what happens then is not tested
   */
  readonly createUnreachable?: (() => Database) | undefined
}

/** A database to test. */
export interface DatabaseUnderTest {
  /** Registers a test: `test` of `node:test`, or of any other runner. */
  readonly test: RegisterTest
  /** The names of the tests begin with it. @default 'database' */
  readonly name?: string | undefined
  /**
   * Makes a new, empty database, and resolves with a function that opens it. Each call of that
   * function is a use of its own, as another process would have it. The suite closes them all.
   */
  readonly create: () => Promise<() => Database>
  /** Abilities and limits of the adapter. @default none beyond the port */
  readonly capabilities?: DatabaseCapabilities | undefined
}

/**
 * Registers the tests that every adapter of {@link Database} passes.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { sqlite } from 'wide-cache'
 * import { testDatabase } from 'wide-cache/testing'
 *
 * let files = 0
 * const create = async () => {
 *   const file = `./test-${files++}.db`
 *   return () => sqlite(file)
 * }
 * testDatabase({ test, name: 'my database', create })
 * ```
 */
export function testDatabase({
  test,
  name = 'database',
  create,
  capabilities: {
    textType = 'VARCHAR(1024)',
    binaryType = 'BLOB',
    keepsNul = true,
    boundsQueue = true,
    createUnreachable,
  } = {},
}: DatabaseUnderTest): void {
  const it: DatabaseTest = (sentence, body) =>
    void test(`${name}: ${sentence}`, async () => {
      const openNew = await create()
      const opened: Database[] = []
      const open = (): Database => {
        const database = openNew()
        opened.push(database)
        return database
      }
      try {
        await body(open(), open)
      } finally {
        await Promise.all(opened.map((database) => database.close()))
      }
    })

  testValues(it, { textType, binaryType, keepsNul })
  testTransactions(it)
  testDialect(it)

  testLimits(it, { boundsQueue })
  testConflicts(it)
  testClosing(it)
  testMigrating(it)
  if (createUnreachable) testUnreachable(it, createUnreachable)
}
