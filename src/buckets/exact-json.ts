import { refusedOption, wrongType, wrongValue } from '../support/options.js'
import type { Codec } from '../support/codec.js'

type What = 'key' | 'value'

const ALLOWED = 'what JSON can hold, or a codec of your own'

/**
 * JSON that changes no number: the default codec of keys and values. JSON turns `NaN` and
 * `Infinity` into null, and a whole number past 2^53 - 1 is not the one that was meant; both are
 * refused. So are a Map, a Set and other objects which JSON cannot represent: as keys they would
 * all be `{}`. Keys may have no undefined value either: JSON leaves it out, or makes it null, and
 * then two keys are one.
 *
 * @throws TypeError for what JSON cannot hold, RangeError for such a number
 */
export function exactJson<T>(what: What): Codec<T> {
  const exact = (name: string, value: unknown): unknown => exactly(what, name, value)
  return {
    encode(value, target, offset) {
      // The usual keys and values are text and numbers, and a replacer is slow.
      const text =
        typeof value === 'object' ? JSON.stringify(value, exact) : JSON.stringify(exact('', value))
      if (text === undefined) throw wrongType(what, value, ALLOWED)
      const bytes = Buffer.byteLength(text)
      return bytes > target.length - offset ? -1 : offset + target.write(text, offset)
    },
    decode: (bytes) => JSON.parse(bytes.toString()) as T,
  }
}

/** @param name of the property that has the value; empty: it is the whole key or value */
function exactly(what: What, name: string, value: unknown): unknown {
  const option = name === '' ? what : `${name}" in "${what}`
  switch (typeof value) {
    case 'object':
      if (value !== null) refuseEmpty(option, value)
      break
    case 'number':
      if (!Number.isFinite(value)) throw wrongValue(option, value, 'finite numbers')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw wrongValue(option, value, 'whole numbers from -(2^53 - 1) to 2^53 - 1')
      }
      break
    case 'bigint':
      throw wrongType(option, value, ALLOWED)
    case 'undefined':
    case 'function':
    case 'symbol':
      // Of a value JSON leaves it out, as usual.
      if (what === 'key' && name !== '') throw wrongType(option, value, ALLOWED)
  }
  return value
}

function refuseEmpty(option: string, value: object): void {
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || prototype === Object.prototype || Array.isArray(value)
  if (isPlain || Object.keys(value).length > 0) return
  const { name = 'unnamed class' } =
    (value as { constructor?: { name?: string } }).constructor ?? {}
  throw refusedOption(
    option,
    `a ${name}, which JSON cannot represent`,
    'an array or a plain object, or a codec of your own',
  )
}
