/** A transaction at a simulated database server. */
export class SimulatedTransaction {
  /** Name of the process whose transaction it is. */
  readonly client: string
  state: 'open' | 'ended' = 'open'
  /** Something has committed it before its end. */
  lost = false
  /** Number of its statements so far. */
  statements = 0
  /** The names of all that it has locked. */
  readonly locked = new Set<string>()

  constructor(client: string) {
    this.client = client
  }
}
