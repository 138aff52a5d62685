/** All kinds of failures, and a server that fails by them and counts what it was asked. */
import { CacheError, type CacheErrorCode } from '../../src/cache/cache.js'
import { DatabaseError, type DatabaseErrorCategory } from '../../src/database/database.js'

/** A failure that a request may meet. */
export interface Failure {
  readonly name: string
  readonly of: 'SQL' | 'cache' | 'code'
  readonly category?: DatabaseErrorCategory
  /** The request may have been carried out. */
  readonly mayBeDone: boolean
  make(): Error
}

const MAY_BE_DONE: readonly string[] = ['unreachable', 'CACHE_TIMEOUT']

function ofDatabase(category: DatabaseErrorCategory, unsent = false): Failure {
  return {
    name: `${category}${unsent ? ', unsent' : ''}`,
    of: 'SQL',
    category,
    mayBeDone: MAY_BE_DONE.includes(category) && !unsent,
    make: () => new DatabaseError('SOME_CODE', category, 'fails as planned', { unsent }),
  }
}

function ofCache(code: CacheErrorCode): Failure {
  return {
    name: code,
    of: 'cache',
    mayBeDone: MAY_BE_DONE.includes(code),
    make: () => new CacheError(code, 'fails as planned'),
  }
}

export const FAILURES: readonly Failure[] = [
  ofDatabase('unreachable'),
  ofDatabase('unreachable', true),
  ofDatabase('lock'),
  ofDatabase('capacity'),
  ofDatabase('data'),
  ofDatabase('usage'),
  ofCache('CACHE_TIMEOUT'),
  ofCache('CACHE_UNREACHABLE'),
  ofCache('CACHE_REFUSED'),
  {
    name: 'RangeError',
    of: 'code',
    mayBeDone: false,
    make: () => new RangeError('fails as planned'),
  },
]

/** A server that counts how often it is asked for each item. */
export class CountingServer {
  readonly asked = new Map<string, number>()
  /** The failure of the first requests. */
  failing: { readonly failure: Failure; times: number } | undefined

  async ask(items: readonly string[]): Promise<void> {
    for (const item of items) this.asked.set(item, (this.asked.get(item) ?? 0) + 1)
    // A server takes a moment, so callers meet.
    await new Promise((resolve) => setImmediate(resolve))
    if (this.failing && this.failing.times-- > 0) throw this.failing.failure.make()
  }
}
