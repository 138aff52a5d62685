import type { QueryResult, SqlValue } from '../../src/database/database.js'
import { SimulatedDatabase } from '../simulated-world/simulated-database.js'
import { takeBrought } from './brought.js'
import type { Protocol } from './protocol.js'
import type { WideCacheProcess } from './process.js'
import { keyOf } from './records.js'
import { INSERT_ROWS } from './watched-database-server.js'
import { WatchedTransaction } from './watched-transaction.js'

/** A database that tells the checks which frames a process brings, and what it has been told. */
export class WatchedDatabase extends SimulatedDatabase<WatchedTransaction> {
  readonly #process: WideCacheProcess

  constructor(process: WideCacheProcess, maxStatementBytes: number, errors: Protocol) {
    super(process, {
      server: process.site.database,
      begin: () => begun(process),
      errors,
      maxStatementBytes,
    })
    this.#process = process
  }

  /** Notes what is missing when the process asks up to when all rows are in SQL. */
  override query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    const { site } = this.#process
    if (sql.includes('missing_since')) this.#process.missing = site.truth.missingFrames()
    return super.query(sql, parameters)
  }

  protected override sends({ toldLost }: WatchedTransaction, sql: string): void {
    if (!toldLost || sql !== INSERT_ROWS) return
    const { world, name } = this.#process
    world.fail(`${name} goes on committing though its commit() commits by itself`)
  }

  protected override failed(code: string): void {
    if (code === 'DATABASE_TRANSACTION_LOST') this.#process.toldLost = true
  }
}

function begun(process: WideCacheProcess): WatchedTransaction {
  const brought = takeBrought()
  if (brought) {
    brought.process = process
    for (const frame of brought.frames) process.broughtNow.add(keyOf(frame))
  }
  return new WatchedTransaction(process, brought)
}
