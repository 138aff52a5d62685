import { SimulatedTransaction } from '../simulated-world/simulated-transaction.js'
import type { Brought } from './brought.js'
import type { WideCacheProcess } from './process.js'
import type { QuarantinedPiece } from './schema.js'

/** A transaction, and what it brings beside its SQL. */
export class WatchedTransaction extends SimulatedTransaction {
  readonly process: WideCacheProcess
  readonly brought: Brought | undefined
  /** `true`: when it began, its process knew already that its commit commits by itself. */
  readonly toldLost: boolean
  rows: number[] = []
  quarantined: QuarantinedPiece[] = []
  raised = false

  constructor(process: WideCacheProcess, brought: Brought | undefined) {
    super(process.name)
    this.process = process
    this.brought = brought
    this.toldLost = process.toldLost
  }
}
