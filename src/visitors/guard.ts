import type { BurstLogger } from '../support/logger.js'

/**
 * Calls the user's own functions. Whatever they throw or return, the request does not notice: what
 * fails is said once in a burst, by the option's name, and never with a message or a value, which
 * might identify someone.
 */
export class Guard {
  readonly #logger: BurstLogger

  constructor(logger: BurstLogger) {
    this.#logger = logger
  }

  /** The text that `ask` returns, or `undefined` if it throws or returns none. */
  text(option: string, instead: string, ask: () => unknown): string | undefined {
    const called = this.#call(option, instead, ask)
    if (!called) return undefined
    if (typeof called.answer === 'string' && called.answer !== '') return called.answer
    return this.#noText(option, instead, called.answer)
  }

  /**
   * The text that `ask` returns; an empty text where it returns that, `null` or `undefined`.
   * `undefined` if it throws or returns anything else.
   */
  optionalText(option: string, instead: string, ask: () => unknown): string | undefined {
    const called = this.#call(option, instead, ask)
    if (!called) return undefined
    const answer = called.answer ?? ''
    return typeof answer === 'string' ? answer : this.#noText(option, instead, answer)
  }

  /**
   * The identity that `ask` returns, a text or a number, as a text; or `undefined` if it throws or
   * returns none.
   */
  identity(option: string, instead: string, ask: () => unknown): string | undefined {
    const called = this.#call(option, instead, ask)
    if (!called) return undefined
    const identity = identityOf(called.answer)
    if (identity === undefined) {
      this.say(
        option,
        `the function given as "${option}" returned ${describe(called.answer)}, not a text or ` +
          'a number',
        instead,
      )
    }
    return identity
  }

  /** Whether `ask` returns something true; `false` if it throws or returns a promise. */
  truth(option: string, instead: string, ask: () => unknown): boolean {
    const called = this.#call(option, instead, ask)
    if (!(called?.answer instanceof Promise)) return Boolean(called?.answer)
    this.say(option, `the function given as "${option}" returned a promise, not a boolean`, instead)
    return false
  }

  /** Says in the log which value was invalid, and what the package does instead. */
  say(trouble: string, what: string, instead: string): void {
    this.#logger.warn(trouble, `wide-cache: ${what}; ${instead}`)
  }

  #noText(option: string, instead: string, answer: unknown): undefined {
    this.say(
      option,
      `the function given as "${option}" returned ${describe(answer)}, not a text`,
      instead,
    )
    return undefined
  }

  #call(option: string, instead: string, ask: () => unknown): { answer: unknown } | undefined {
    try {
      const answer = ask()
      // An async function's rejection would end the process.
      if (answer instanceof Promise) answer.catch(() => undefined)
      return { answer }
    } catch (error) {
      this.say(
        option,
        `the function given as "${option}" threw ${describe(error)}${sourceLineOf(error)}`,
        instead,
      )
      return undefined
    }
  }
}

/**
 * An identity as a text: a text that is not empty, or a number such as a database's id. The number
 * 7 and the text "7" are one.
 */
export function identityOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return Number.isFinite(value) || typeof value === 'bigint' ? String(value) : undefined
}

/** Returns a field of an argument; `undefined` also where reading it throws. */
export function fieldOf(argument: object | null | undefined, field: string): unknown {
  try {
    const isNothing = argument === undefined || argument === null
    return isNothing ? undefined : Reflect.get(Object(argument), field)
  } catch {
    return undefined
  }
}

/** Describes a value without showing it. Never throws. */
export function describe(value: unknown): string {
  try {
    return described(value)
  } catch {
    return 'an object that cannot be read'
  }
}

function described(value: unknown): string {
  if (value === '') return 'an empty text'
  if (value === undefined || value === null) return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Error) return `an error of class ${value.constructor.name}`
  if (value instanceof Promise) return 'a promise'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/**
 * ` at file:line:column`, from the last of an error's stack frames to be called; its message is not
 * looked at. Never throws.
 */
function sourceLineOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return ''
    const frames = (error.stack ?? '').replace(error.message, '')
    const frame = /^ {4}at (?:[^(\n]*\()?([^()\n]+:\d+:\d+)\)?$/m.exec(frames)
    return frame ? ` at ${frame[1]}` : ''
  } catch {
    return ''
  }
}
