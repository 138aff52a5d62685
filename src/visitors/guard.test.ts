import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BurstLogger } from '../support/logger.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { Guard } from './guard.js'

test('a warning has the line that threw, and nothing that a message says', () => {
  const address = '192.0.2.7:8:9'
  const messages = ['lost', `lost at ${address}`, `lost    at ${address}`, `\n    at ${address}`]
  const errors = messages.map((message) => new RangeError(message))
  const changed = new RangeError(messages[2])
  assert.match(changed.stack!, /192/, 'once read, a stack keeps its message')
  changed.message = 'another'
  errors.push(changed)
  for (const error of errors) {
    const log = keptLog()
    const guard = new Guard(new BurstLogger(log, () => 0))
    const answer = guard.text('visitor', 'nobody is counted', () => {
      throw error
    })
    assert.equal(answer, undefined)
    assert.match(log.lines[0]!, /threw an error of class RangeError at .*guard\.test\.ts:\d+:\d+;/)
    assert.doesNotMatch(log.lines[0]!, /192/)
  }
})

test('an error that cannot be read costs its line, and nothing else', () => {
  const throwing = (): never => {
    throw new Error('not to be read')
  }
  for (const fields of [
    { stack: { value: [{ line: 1 }] } },
    { message: { value: Symbol('lost') } },
    { message: { get: throwing } },
    { stack: { get: throwing } },
  ] as readonly PropertyDescriptorMap[]) {
    const log = keptLog()
    const guard = new Guard(new BurstLogger(log, () => 0))
    const error = Object.defineProperties(new RangeError('lost'), fields)
    const answer = guard.text('visitor', 'nobody is counted', () => {
      throw error
    })
    assert.equal(answer, undefined)
    assert.match(log.lines[0]!, /threw an error of class RangeError.*; nobody is counted/)
  }
})
