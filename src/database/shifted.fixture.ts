import type { Database, Queryable, Transaction } from './database.js'

/**
 * `database`, whose clock, also within its transactions, is `ahead()` milliseconds ahead of what it
 * is.
 */
export function shifted(database: Database, ahead: () => number): Database {
  const shift = <Q extends Queryable>(queryable: Q): Q =>
    new Proxy(queryable, {
      get(target, property) {
        if (property === 'now') return async () => (await target.now()) + ahead()
        if (property === 'transaction') {
          return (work: (tx: Transaction) => Promise<unknown>) =>
            database.transaction((tx) => work(shift(tx)))
        }
        const value: unknown = Reflect.get(target, property, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  return shift(database)
}
