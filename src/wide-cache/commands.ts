/**
 * The interface of a WideCache, an activity or hits for the commands of the package, beside the
 * public methods. The object has it under a symbol that all copies of the package share, because a
 * site may import another copy than the one that the command belongs to.
 */
import type { Cache } from '../cache/cache.js'

/** An object whose grid a command collects. */
export interface Collectable {
  /**
   * Starts to collect by a cron line, or by the default of the option `collect`, unless this
   * process collects already. Returns the scope of the cache: nothing of other processes can be
   * collected from a private one.
   *
   * @throws TypeError, RangeError if `line` is no cron line; ClosedError
   */
  collectBy(line?: string): Cache['scope']
  /** Returns the reasons why a process that only collects is not ready; empty if it is. */
  collectingTroubles(): Promise<string[]>
  metrics(): Promise<string>
  close(): Promise<unknown>
}

const KEY = Symbol.for('wide-cache.collectable')

/** Lets commands collect the grid of `object` by `collectable`. */
export function letCommandsCollect(object: object, collectable: Collectable): void {
  Object.defineProperty(object, KEY, { value: collectable })
}

/** Returns the interface by which a command collects `value`; `undefined`: it has none. */
export function collectableOf(value: unknown): Collectable | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return (value as { readonly [KEY]?: Collectable })[KEY]
}
