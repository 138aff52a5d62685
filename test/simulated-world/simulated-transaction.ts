import type { Brought } from '../simulation/brought.js'
import type { SimulatedProcess } from './simulated-process.js'
import type { QuarantinedPiece } from '../simulation/schema.js'

/** A transaction at the virtual server, and what it brings beside its SQL. */
export class SimulatedTransaction {
  readonly process: SimulatedProcess
  readonly brought: Brought | undefined
  state: 'open' | 'ended' = 'open'
  /** Something has committed it before its end. */
  lost = false
  rows: number[] = []
  quarantined: QuarantinedPiece[] = []
  raised = false
  /** What it has locked: writers' rows, and rows of grids. */
  readonly writers = new Set<string>()
  grids = false

  constructor(process: SimulatedProcess, brought: Brought | undefined) {
    this.process = process
    this.brought = brought
  }
}

/** The locks of a transaction whose client is gone without the server having noticed. */
export interface Orphan {
  readonly writers: ReadonlySet<string>
  readonly grids: boolean
}
