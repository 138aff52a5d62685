/** Stops work on a database before each of its statements in turn, and lets others go first. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, DatabaseError } from '../../src/database/database.js'
import { wrappedDatabase } from '../servers/wrapped.js'

/** Time that the others get, of which some wait for locks of the work. */
const HEAD_START_MS = 100

/**
 * Runs `work` on `database` once for each of its statements. Before that statement `meanwhile`
 * begins, and has time to end unless a lock stops it. Both get the statement's number, from 1 on.
 * Returns how many there were.
 */
export async function atEachStatement(
  database: Database,
  work: (database: Database, statement: number) => Promise<void>,
  meanwhile: (statement: number) => Promise<unknown>,
): Promise<number> {
  for (let statement = 1; ; statement++) {
    let number = 0
    let others: Promise<unknown> | undefined
    const before = async (): Promise<void> => {
      if (++number !== statement) return
      others = meanwhile(statement)
      await Promise.race([others, delay(HEAD_START_MS)])
    }
    const stopped = wrappedDatabase(
      database,
      {
        query: async (...args) => {
          await before()
          return database.query(...args)
        },
      },
      (tx) => ({
        query: async (...args) => {
          await before()
          return tx.query(...args)
        },
      }),
    )
    await unlocked(() => work(stopped, statement))
    if (!others) return number
    await others
  }
}

/** Runs `work` again after a deadlock. */
export async function unlocked<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
    }
  }
}
