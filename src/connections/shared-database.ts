/**
 * One pool of connections for all objects of a process that name the same database URL: opened with
 * the first of them, and closed with the last. Each object has a share, which it closes. A share
 * passes on each request once.
 */
import { closedError } from '../database/closed.js'
import type { Database } from '../database/database.js'
import { ForwardingDatabase } from '../database/forwarding.js'
import { Lifetime } from '../support/lifetime.js'

interface Opened {
  readonly database: Database
  shares: number
}

/** By URL. A URL holds a password: it is never shown. */
const opened = new Map<string, Opened>()

/**
 * Returns a share of the database at `url`, and opens it with `open` if this process has not yet.
 */
export function sharedDatabase(url: string, open: () => Database): Database {
  const found = opened.get(url) ?? { database: open(), shares: 0 }
  opened.set(url, found)
  found.shares++
  return new Share(found.database, async () => {
    if (--found.shares > 0) return
    opened.delete(url)
    await found.database.close()
  })
}

class Share extends ForwardingDatabase {
  readonly #giveBack: () => Promise<void>
  readonly #lifetime = new Lifetime(closedError)

  constructor(database: Database, giveBack: () => Promise<void>) {
    super(database)
    this.#giveBack = giveBack
  }

  override close(): Promise<void> {
    return this.#lifetime.close(this.#giveBack)
  }

  protected override around<T>(call: () => Promise<T>): Promise<T> {
    return this.#lifetime.run(call)
  }
}
