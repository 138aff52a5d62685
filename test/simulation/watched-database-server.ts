import type { QueryResult, SqlValue } from '../../src/database/database.js'
import { Refusal, SimulatedDatabaseServer } from '../simulated-world/simulated-database-server.js'
import type { World } from '../simulated-world/world.js'
import type { Scenario } from './scenario.js'
import {
  changesNamespace,
  entersName,
  namespaceGivenUpBy,
  entersGrid,
  isRead,
  locksGrids,
  quarantinedBy,
  raiserOf,
  raises,
  writersLockedBy,
} from './schema.js'
import type { Truth } from './truth.js'
import type { WatchedTransaction } from './watched-transaction.js'

/**
 * The statement with which the caller's `commit` writes its rows: taken out here, so that the
 * checks see it.
 */
export const INSERT_ROWS = 'INSERT INTO rows'

/**
 * A statement of the caller's `commit` that commits by itself and begins a new transaction, as
 * `COMMIT AND CHAIN` does.
 */
export const COMMIT_AND_CHAIN = 'COMMIT AND CHAIN'

const GRIDS = 'grids'

/** A database server that tells the checks what comes to the wide cache's tables. */
export class WatchedDatabaseServer extends SimulatedDatabaseServer<WatchedTransaction> {
  /** The name has been entered while the clock was ahead: its safe clock starts there. */
  enteredAhead = false
  /** Until then the table of the caller's rows is locked: all other statements are answered. */
  rowsLockedUntil = 0
  readonly #truth: Truth

  constructor(world: World, scenario: Scenario, truth: Truth) {
    super(world, 'wide-cache', scenario, truth.name)
    this.#truth = truth
  }

  /** As MySQL: a transaction's reads before its first write lock nothing. */
  protected override locksAll(sql: string): boolean {
    return !isRead(sql)
  }

  protected override locksOf(sql: string, values: readonly SqlValue[]): readonly string[] {
    return locksGrids(sql) ? [GRIDS] : writersLockedBy(sql, values)
  }

  /** The rows of the caller stand for short ones. */
  protected override bytesOf(sql: string, values: readonly SqlValue[]): number {
    return super.bytesOf(sql === INSERT_ROWS ? '' : sql, values)
  }

  protected override execute(
    tx: WatchedTransaction | undefined,
    sql: string,
    values: readonly SqlValue[],
  ): QueryResult {
    if (sql === INSERT_ROWS) {
      if (this.world.now < this.rowsLockedUntil) throw new Refusal('ER_LOCK_WAIT_TIMEOUT', 'lock')
      const ids = values.map(Number)
      if (ids.some((id) => this.#truth.refusedBySql(id))) {
        throw new Refusal('ER_DATA_TOO_LONG', 'data')
      }
      tx!.rows.push(...ids)
      return { rows: [], affectedRows: ids.length }
    }
    if (sql === COMMIT_AND_CHAIN) {
      this.#truth.committedBeside(tx!)
      tx!.rows = []
      this.commitEarly(tx!)
      return { rows: [], affectedRows: 0 }
    }
    const result = super.execute(tx, sql, values)
    const piece = tx && quarantinedBy(sql, values)
    if (piece) tx.quarantined.push(piece)
    if (raises(sql)) this.#raised(tx, values)
    if (entersName(sql) && result.affectedRows > 0) this.enteredAhead = this.clock.isAhead
    if (entersGrid(sql)) this.#truth.entered(this)
    if (changesNamespace(sql)) this.#truth.hasParted(namespaceGivenUpBy(values))
    return result
  }

  protected override committed(tx: WatchedTransaction): void {
    this.#truth.committed(tx, this)
  }

  /** Without a transaction, what a statement has done is committed. */
  #raised(tx: WatchedTransaction | undefined, values: readonly SqlValue[]): void {
    if (tx) tx.raised = true
    else this.#truth.raised(raiserOf(values), this)
  }
}
