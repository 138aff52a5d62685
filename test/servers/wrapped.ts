/**
 * Ports with some of their methods replaced, so that a test can count, lose or shift what passes
 * through them.
 */
import type { Database, Transaction } from '../../src/database/database.js'

/** `target`, but for the methods of `replacements`. What the port may gain later passes through. */
export function wrapped<T extends object>(target: T, replacements: Partial<T>): T {
  return new Proxy(target, {
    get(_, property) {
      if (Object.hasOwn(replacements, property)) {
        return Reflect.get(replacements, property) as unknown
      }
      const value: unknown = Reflect.get(target, property, target)
      // Bound, because private fields are found on the target only.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/**
 * `database`, its own methods replaced by `replacements`, and those of each transaction by what
 * `inTransaction` returns.
 */
export function wrappedDatabase(
  database: Database,
  replacements: Partial<Database>,
  inTransaction: (tx: Transaction) => Partial<Transaction>,
): Database {
  return wrapped(database, {
    transaction: <R>(work: (tx: Transaction) => Promise<R>) =>
      database.transaction((tx) => work(wrapped(tx, inTransaction(tx)))),
    ...replacements,
  })
}

/** `database` with its clock ahead by `aheadMs()` milliseconds. */
export function withClockAhead(database: Database, aheadMs: () => number): Database {
  return wrappedDatabase(
    database,
    { now: async () => (await database.now()) + aheadMs() },
    (tx) => ({ now: async () => (await tx.now()) + aheadMs() }),
  )
}
