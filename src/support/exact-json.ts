import type { Codec } from './codec.js'
import { refusedOption, refusedValue, wrongType, wrongValue } from './options.js'

type What = 'key' | 'value' | 'row' | 'figures'

const ALLOWED = 'what JSON can hold, or a codec of your own'

/** Deeper than any row, and no cycle ends before it. */
const MAX_DEPTH = 500

/**
 * JSON that gives back what it was given: the default codec of keys, values and rows. Refused, by
 * the name of the property, is what JSON would change without a word:
 *
 * - NaN and Infinity, and whole numbers past 2^53 - 1
 * - bigints, functions, symbols, and undefined in an array
 * - objects with a JSON of their own, such as a Date or a Buffer, arrays of bytes, and those that
 *   JSON shows as empty, such as a Map or a Set
 *
 * A property that is undefined is left out. A key may have none: then two keys would be one.
 */
export function exactJson<T>(what: What): Codec<T> {
  return {
    encode(value, target, offset) {
      const text = jsonOf(what, value)
      // Up to three bytes a UTF-16 unit: count exactly only where it might not fit.
      const room = target.length - offset
      if (text.length * 3 > room && Buffer.byteLength(text) > room) return -1
      return offset + target.write(text, offset)
    },
    decode: (bytes) => JSON.parse(bytes.toString()) as T,
  }
}

/**
 * The JSON of a value by the rule of {@link exactJson}.
 *
 * @throws TypeError, RangeError naming the property that JSON would change
 */
export function jsonOf(what: What, value: unknown): string {
  check(what, '', value, 0)
  return JSON.stringify(value)
}

/**
 * Returns the default codec of rows: JSON. `append` drops rows that JSON would change, such as
 * those with a Map, a Date, NaN or a bigint, and the log names the property. A property that is
 * undefined is left out.
 */
export function jsonCodec<Row>(): Codec<Row> {
  return exactJson('row')
}

/** @param name of the property that has the value; empty: it is the whole */
function check(what: What, name: string | number, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (!Number.isFinite(value)) throw wrongValue(optionOf(what, name), value, 'finite numbers')
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        const allowed = 'whole numbers from -(2^53 - 1) to 2^53 - 1'
        // Of a row the log quotes the message, and it may be somebody's number.
        if (what === 'row') throw refusedValue(optionOf(what, name), 'a longer one', allowed)
        throw wrongValue(optionOf(what, name), value, allowed)
      }
      return
    case 'object':
      if (value !== null) checkObject(what, name, value, depth)
      return
    default:
      throw wrongType(optionOf(what, name), value, ALLOWED)
  }
}

function checkObject(what: What, name: string | number, value: object, depth: number): void {
  if (depth === MAX_DEPTH) {
    throw refusedOption(what, 'nested too deep, or within itself', ALLOWED)
  }
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) check(what, at, value[at], depth + 1)
    return
  }
  const members = value as Readonly<Record<string, unknown>>
  let isEmpty = true
  if (typeof members['toJSON'] !== 'function' && !ArrayBuffer.isView(value)) {
    for (const key of Object.keys(members)) {
      const member = members[key]
      isEmpty = false
      if (member !== undefined || what === 'key') check(what, key, member, depth + 1)
    }
    if (!isEmpty || isPlain(value)) return
  }
  const { name: of = 'unnamed class' } =
    (value as { constructor?: { name?: string } }).constructor ?? {}
  throw refusedOption(
    optionOf(what, name),
    `a ${of}, which JSON cannot represent`,
    'an array or a plain object, or a codec of your own',
  )
}

/** Also of another realm, as in tests by jest. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function optionOf(what: What, name: string | number): string {
  return name === '' ? what : `${name}" in "${what}`
}
