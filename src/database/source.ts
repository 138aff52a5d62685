/**
 * The Database object that a transaction, or a database that passes its work on, comes from. It is
 * kept beside the objects, so that no port gets a method for it.
 */
import type { Database } from './database.js'

const sources = new WeakMap<object, Database>()

/** Records where `made` comes from. A database that makes its transactions comes from itself. */
export function comesFrom<T extends object>(made: T, database: Database): T {
  sources.set(made, database)
  return made
}

/**
 * Returns the database of the package that `made` comes from. `undefined`: that is not known, such
 * as for a database of the user's own.
 */
export function sourceOf(made: object): Database | undefined {
  for (let at = made; ;) {
    const source = sources.get(at)
    if (source === undefined || source === at) return source
    at = source
  }
}
