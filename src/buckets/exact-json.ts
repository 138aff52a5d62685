import type { Codec } from '../support/codec.js'

/**
 * JSON that changes no number: the default codec of keys and values. JSON turns `NaN` and
 * `Infinity` into null, and a whole number past 2^53 - 1 is not the one that was meant; both are
 * refused. So are a Map, a Set and other objects of which JSON keeps nothing: as keys they would
 * all be `{}`. Keys may have no undefined value either: JSON leaves it out, or makes it null, and
 * then two keys are one.
 *
 * @throws TypeError for what JSON cannot hold, RangeError for such a number
 */
export function exactJson<T>(what: 'key' | 'value'): Codec<T> {
  const exact = what === 'key' ? exactKey : exactValue
  return {
    encode(value, target, offset) {
      // The usual keys and values are text and numbers, and a replacer is slow.
      const text =
        typeof value === 'object' ? JSON.stringify(value, exact) : JSON.stringify(exact('', value))
      if (text === undefined) {
        throw new TypeError('wide-cache: a key or value that JSON cannot hold')
      }
      const bytes = Buffer.byteLength(text)
      return bytes > target.length - offset ? -1 : offset + target.write(text, offset)
    },
    decode: (bytes) => JSON.parse(bytes.toString()) as T,
  }
}

function exactKey(name: string, value: unknown): unknown {
  if (name !== '' && ['undefined', 'function', 'symbol'].includes(typeof value)) {
    throw new TypeError(
      `wide-cache: a key with an object whose "${name}" is ${typeof value}; allowed: values that ` +
        'JSON keeps, so that no two keys are one',
    )
  }
  return exactValue(name, value)
}

function exactValue(_: string, value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return kept(value)
  if (typeof value !== 'number') return value
  if (!Number.isFinite(value)) {
    throw new RangeError(`wide-cache: the number ${value}; allowed: finite numbers`)
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError(
      `wide-cache: the whole number ${value}; allowed: whole numbers from -(2^53 - 1) to 2^53 - 1`,
    )
  }
  return value
}

function kept(value: object): object {
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || prototype === Object.prototype || Array.isArray(value)
  if (isPlain || Object.keys(value).length > 0) return value
  const { name = 'unnamed class' } =
    (value as { constructor?: { name?: string } }).constructor ?? {}
  throw new TypeError(
    `wide-cache: a key or value has a ${name}, of which JSON keeps nothing; give an array or ` +
      'a plain object, or a codec of your own',
  )
}
