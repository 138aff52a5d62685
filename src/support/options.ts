/**
 * Checks of user options. All messages have the same form: they name the option, its value, what is
 * allowed and, where it is not plain, what to do. An unknown option and a wrong type are a
 * `TypeError`, a wrong value a `RangeError`; all carry the code `ERR_WIDE_CACHE_OPTION`.
 * `@throws TypeError, RangeError` stands for these wherever it says no more.
 */
import { codeOf } from './errors.js'

const CODE = 'ERR_WIDE_CACHE_OPTION'

/** A value as it is shown in a message: short, on one line. */
export function shown(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Date || (typeof value === 'object' && value !== null)) {
    return Array.isArray(value) ? 'an array' : 'an object'
  }
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** The error for an option of a wrong type. */
export function wrongType(option: string, value: unknown, allowed: string): TypeError {
  return refusedOption(option, shown(value), allowed)
}

/** The error for an option of a wrong type, with a description of its value. */
export function refusedOption(option: string, description: string, allowed: string): TypeError {
  return Object.assign(
    new TypeError(`wide-cache: option "${option}" is ${description}; allowed: ${allowed}`),
    { code: CODE },
  )
}

/** The error for an option of the right type and a wrong value. */
export function wrongValue(option: string, value: unknown, allowed: string): RangeError {
  return refusedValue(option, shown(value), allowed)
}

/** The error for a wrong value that is described, because it may hold a password. */
export function refusedValue(option: string, description: string, allowed: string): RangeError {
  return Object.assign(
    new RangeError(`wide-cache: option "${option}" is ${description}; allowed: ${allowed}`),
    { code: CODE },
  )
}

/** Whether this is an error for an option or an argument. */
export function isRefusal(error: unknown): error is Error {
  return error instanceof Error && codeOf(error) === CODE
}

/**
 * Refuses anything but an object whose keys are all in `known`, so that a typing error is not
 * silently ignored.
 */
export function onlyKnown(what: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw wrongType(`${what} options`, options, 'an object')
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      // Its value is not repeated: it may be a password whose option is mistyped.
      throw Object.assign(
        new TypeError(`wide-cache: option "${key}" is unknown; ${what} takes ${known.join(', ')}`),
        { code: CODE },
      )
    }
  }
}

/**
 * Checks a whole number from `min` to `max`. `hint`, such as "seconds", makes the message plainer.
 */
export function integer(
  option: string,
  value: unknown,
  min: number,
  max: number,
  hint = '',
): number {
  const allowed = `a whole number from ${min} to ${max}${hint && ` ${hint}`}`
  if (typeof value !== 'number') throw wrongType(option, value, allowed)
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw wrongValue(option, value, allowed)
  }
  return value
}

/** One of a few fixed values. */
export function oneOf<const T extends string | boolean>(
  option: string,
  value: unknown,
  choices: readonly T[],
): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  const allowed = choices.map((choice) => JSON.stringify(choice)).join(' or ')
  throw typeof value === 'string' || typeof value === 'boolean'
    ? wrongValue(option, value, allowed)
    : wrongType(option, value, allowed)
}

/** A function, or not given. */
export function optionalFunction<F>(option: string, value: F, allowed: string): F {
  if (value !== undefined && typeof value !== 'function') throw wrongType(option, value, allowed)
  return value
}

/** Names go into cache keys, SQL rows and log lines. */
const NAME = /^[A-Za-z0-9_.-]+$/
const MAX_NAME = 32

/** A name: 1 to `max` letters, digits, `_`, `.` and `-`. */
export function identifier(option: string, value: unknown, max = MAX_NAME): string {
  const allowed = `1 to ${max} letters, digits, "_", "." or "-"`
  if (typeof value !== 'string') throw wrongType(option, value, allowed)
  if (!NAME.test(value) || value.length > max) throw wrongValue(option, value, allowed)
  return value
}

/** A logger: anything with `info`, `warn` and `error`. */
export function loggerOf<L>(option: string, value: L): L {
  const methods = value as Record<string, unknown> | null
  const fits =
    typeof value === 'object' &&
    methods !== null &&
    ['info', 'warn', 'error'].every((name) => typeof methods[name] === 'function')
  if (!fits) {
    throw wrongType(
      option,
      value,
      'an object with the methods info, warn and error, such as console',
    )
  }
  return value
}

/**
 * `options` without the ones that are `undefined`: an option that is undefined is an option not
 * given.
 */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
