/**
 * Refuses a transaction of another database, whose commit would not be that of what is queued. The
 * Database objects tell, with no statement. Only where they are two, the namespaces of their
 * databases are read, once for each object: two objects may be opened on one database.
 */
import {
  type Database,
  DatabaseError,
  type Queryable,
  type Transaction,
} from '../database/database.js'
import { execute } from '../database/sql.js'
import { sourceOf } from '../database/source.js'
import { refusedOption, wrongType } from '../support/options.js'

const ALLOWED = 'the transaction that database.transaction(async (tx) => …) gives its function'
const OR_FUNCTION =
  ', or for update() and add() a function (sql) => … that runs one SQL text in your transaction'

export class OwnTransactions {
  readonly #own: Database | undefined
  readonly #what: string
  /** Other objects that are known to be opened on the same database. */
  readonly #same = new WeakSet<Database>()

  /** @param what has the database, such as `map "stock"` */
  constructor(database: Database, what: string) {
    this.#own = sourceOf(database)
    this.#what = what
  }

  /**
   * Returns `tx`, at once if no statement is needed.
   *
   * @throws TypeError for anything but a transaction of the database; DatabaseError
   */
  check(tx: unknown): Transaction | Promise<Transaction> {
    if (!isTransaction(tx)) throw wrongType('tx', tx, ALLOWED + OR_FUNCTION)
    const source = sourceOf(tx)
    const isKnown = !source || !this.#own || source === this.#own || this.#same.has(source)
    return isKnown ? tx : this.#compared(tx, source, this.#own)
  }

  async #compared(tx: Transaction, source: Database, own: Database): Promise<Transaction> {
    const [theirs, ours] = [await namespaceIn(tx), await namespaceIn(own)]
    if (theirs !== ours) {
      throw refusedOption(
        'tx',
        `a transaction of another database than that of the ${this.#what}`,
        ALLOWED,
      )
    }
    if (theirs !== undefined) this.#same.add(source)
    return tx
  }
}

function isTransaction(tx: unknown): tx is Transaction {
  const methods = tx as Partial<Record<keyof Transaction, unknown>> | null | undefined
  return typeof methods?.query === 'function' && typeof methods.beforeCommit === 'function'
}

/** The namespace of a database, in hexadecimal; `undefined` before it has been migrated. */
async function namespaceIn(queryable: Pick<Queryable, 'query'>): Promise<string | undefined> {
  try {
    const { rows } = await execute(queryable)`SELECT namespace FROM wide_cache_identity`
    const namespace = rows[0]?.['namespace']
    return Buffer.isBuffer(namespace) ? namespace.toString('hex') : undefined
  } catch (error) {
    // There is no table yet. Whatever has failed, a transaction ends with it.
    if (error instanceof DatabaseError && error.category === 'usage') return undefined
    throw error
  }
}
