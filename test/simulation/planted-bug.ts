import { AsyncLocalStorage } from 'node:async_hooks'
import type { Protocol } from './protocol.js'

/** One replacement in the protocol's text. */
export interface Replacement {
  /** Path from `src/wide-cache`. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

/** No bug: batches so small that a simulated layer makes several. */
export const SMALL_BATCHES: Replacement = {
  file: 'ledger/frame-batches.ts',
  find: 'const BATCH_FRAMES = 2_000',
  replace: 'const BATCH_FRAMES = 2',
}

/** A bug of the sort that a change could bring, and what must tell. */
interface Bug {
  readonly name: string
  /** A further change, so that the bug can show. */
  readonly with?: Replacement
  /** The simulation's message when it finds the bug. */
  readonly message: RegExp
  /** A seed that finds it, where the first one is far. It is tried before all others. */
  readonly seed?: number
}

/** A bug at a public method of the protocol. It survives changes to the method's text. */
interface BugAtSeam<Modules> extends Bug {
  /** Replaces methods of modules that have been loaded for this bug alone. */
  plant(modules: Modules): void
}

/** A bug inside a function or a private method, as a replacement in its text. */
interface BugInText extends Bug, Replacement {}

export type PlantedBug<Modules = Protocol> = BugAtSeam<Modules> | BugInText

/** The replacements that a bug needs in the text. */
export function replacementsOf(bug: PlantedBug<never>): Replacement[] {
  return [...('plant' in bug ? [] : [bug]), ...(bug.with ? [bug.with] : [])]
}

/** Matches what any of `patterns` matches. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'))
}

type ArgumentsOf<Method> = Method extends (...args: infer Args) => unknown ? Args : never

/**
 * Has `begin` make something for each call of a method. Returns a function that returns what was
 * made for the call that the code runs in, if it runs in one.
 */
export function callsOf<Class extends object, Name extends keyof Class, Made>(
  prototype: Class,
  name: Name,
  begin: (...args: ArgumentsOf<Class[Name]>) => Made,
): () => Made | undefined {
  const calls = new AsyncLocalStorage<Made>()
  const method = prototype[name] as (...args: unknown[]) => unknown
  const called = function (this: unknown, ...args: ArgumentsOf<Class[Name]>): unknown {
    return calls.run(begin(...args), () => method.apply(this, args))
  }
  Object.assign(prototype, { [name]: called })
  return () => calls.getStore()
}

/** Returns a function that tells whether the code runs in a call of a method. */
export function within<Class extends object>(prototype: Class, name: keyof Class): () => boolean {
  const isWithin = callsOf(prototype, name, () => true)
  return () => isWithin() === true
}
