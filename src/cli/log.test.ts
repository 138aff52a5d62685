import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { commandLog, type LogFormat } from './log.js'

function logged(format: LogFormat) {
  const lines: string[] = []
  const log = commandLog(format, (line) => lines.push(line), new ManualClock(1_800_000_000_000))
  return { lines, log }
}

test('text is the message on one line, and obeys nothing that a server has put into it', () => {
  const { lines, log } = logged('text')
  log.info('wide-cache: collecting "a"', { name: 'a' })
  log.error('wide-cache: two\n  lines \u001b[2J')
  assert.deepEqual(lines, ['wide-cache: collecting "a"', 'wide-cache: two lines \\u{1b}[2J'])
  assert.equal(log.last, 'wide-cache: two\n  lines \u001b[2J')
})

test('JSON is an object a line, with time, level, message and fields', () => {
  const { lines, log } = logged('json')
  log.warn('wide-cache: collecting "a"\nfailed', { name: 'a' })
  log.info('ready: wide-cache: 2')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      {
        time: '2027-01-15T08:00:00.000Z',
        level: 'warn',
        message: 'collecting "a"\nfailed',
        name: 'a',
      },
      { time: '2027-01-15T08:00:00.000Z', level: 'info', message: 'ready: wide-cache: 2' },
    ],
  )
  assert(lines.every((line) => !line.includes('\n')))
})
