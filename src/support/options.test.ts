import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  given,
  integer,
  loggerOf,
  identifier,
  oneOf,
  onlyKnown,
  optionalFunction,
} from './options.js'

test('a message names the option, its value and what is allowed, and carries a code', () => {
  assert.throws(() => integer('width', 1.5, 1, 1000, 'columns'), {
    name: 'RangeError',
    code: 'ERR_WIDE_CACHE_OPTION',
    message: 'wide-cache: option "width" is 1.5; allowed: a whole number from 1 to 1000 columns',
  })
  assert.throws(() => integer('width', '15', 1, 1000), {
    name: 'TypeError',
    code: 'ERR_WIDE_CACHE_OPTION',
    message: /option "width" is "15"/,
  })
  assert.throws(() => integer('width', Number.NaN, 1, 1000), {
    name: 'RangeError',
    message: /is NaN/,
  })
  assert.equal(integer('width', 1000, 1, 1000), 1000)
})

test('a long value is cut, and an object is not printed', () => {
  assert.throws(
    () => identifier('name', 'x'.repeat(500)),
    (error: Error) => error.message.length < 200,
  )
  assert.throws(
    () => identifier('name', { password: 'secret' }),
    (error: Error) => !error.message.includes('secret'),
  )
})

test('names are 1 to 32 letters, digits, "_", "." or "-"', () => {
  assert.equal(identifier('name', 'a'.repeat(32)), 'a'.repeat(32))
  for (const wrong of ['', 'with space', 'a'.repeat(33), 'ü', 'a\n']) {
    assert.throws(() => identifier('name', wrong), RangeError)
  }
})

test('an option that does not exist is named, with those that do', () => {
  assert.throws(() => onlyKnown('WideCache', { widht: 3 }, ['width']), {
    name: 'TypeError',
    message: /"widht" is unknown; WideCache takes width/,
  })
  for (const wrong of [null, undefined, 5, 'width', [], ['width']]) {
    assert.throws(() => onlyKnown('WideCache', wrong, ['width', '0']), {
      name: 'TypeError',
      message: /^wide-cache: option "WideCache options" is .*; allowed: an object$/,
    })
  }
  assert.throws(
    () => onlyKnown('mysql', { pasword: 'secret' }, ['password']),
    (error: Error) => !error.message.includes('secret'),
    'a password whose option is mistyped is not repeated',
  )
})

test('choices, functions and loggers are checked', () => {
  assert.equal(oneOf('bots', 'skip', ['skip', 'count']), 'skip')
  assert.throws(() => oneOf('bots', 'maybe', ['skip', 'count']), {
    name: 'RangeError',
    message: /"skip" or "count"/,
  })
  assert.throws(() => oneOf('bots', 1, ['skip', 'count']), TypeError)
  assert.throws(() => optionalFunction('skip', 'yes', 'a function (req, res)'), TypeError)
  assert.equal(optionalFunction('skip', undefined, ''), undefined)
  assert.equal(loggerOf('logger', console), console)
  for (const wrong of [{ info() {} }, null, 'console', undefined]) {
    assert.throws(() => loggerOf('logger', wrong), {
      code: 'ERR_WIDE_CACHE_OPTION',
      message: /info, warn and error/,
    })
  }
})

test('an option that is undefined is an option not given', () => {
  assert.deepEqual(given({ a: undefined, b: 0, c: null }), { b: 0, c: null })
})
