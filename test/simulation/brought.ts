import type { Frame } from '../../src/wide-cache/frame.js'
import type { WideCacheProcess } from './process.js'

/** The frames that the heart brings to a transaction of its ledger. */
export interface Brought {
  readonly frames: readonly Frame[]
  /** A collector brings them, out of cells; otherwise their writer does. */
  readonly drained: boolean
  /** Process whose ledger it is, once the transaction has begun. */
  process?: WideCacheProcess
}

/** Set while the ledger is called, which begins its transaction before it returns. */
let next: Brought | undefined

/** Calls the ledger, whose transaction then belongs to `brought`. */
export function bringing<T>(brought: Brought, call: () => T): T {
  next = brought
  try {
    return call()
  } finally {
    next = undefined
  }
}

export function takeBrought(): Brought | undefined {
  const brought = next
  next = undefined
  return brought
}
