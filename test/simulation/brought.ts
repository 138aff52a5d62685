import { AsyncLocalStorage } from 'node:async_hooks'
import type { Frame } from '../../src/wide-cache/frame.js'
import type { WideCacheProcess } from './process.js'

/** The frames that the protocol brings to a transaction of its ledger. */
export interface Brought {
  readonly frames: readonly Frame[]
  /** A collector brings them, out of cells; otherwise their writer does. */
  readonly drained: boolean
  /** Process whose ledger it is, once the transaction has begun. */
  process?: WideCacheProcess
}

/**
 * Call of the ledger that the code runs in, until its transaction has begun: a ledger whose
 * database is not prepared yet waits for that first.
 */
const calls = new AsyncLocalStorage<{ brought: Brought | undefined }>()

/** Calls the ledger, whose transaction then belongs to `brought`. */
export function bringing<T>(brought: Brought, call: () => T): T {
  return calls.run({ brought }, call)
}

/** Returns what the transaction that begins now was called with; of each call once. */
export function takeBrought(): Brought | undefined {
  const call = calls.getStore()
  const brought = call?.brought
  if (call) call.brought = undefined
  return brought
}
