import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptLog } from './kept-log.fixture.js'
import { BurstLogger } from './logger.js'

function recording() {
  let elapsed = 0
  const log = keptLog()
  const logger = new BurstLogger(log, () => elapsed)
  return {
    logger,
    lines: log.lines,
    pass: (ms: number) => {
      elapsed += ms
    },
  }
}

test('of a burst only the first message is printed; the next burst says how many came', () => {
  const { logger, lines, pass } = recording()
  for (let i = 0; i < 100; i++) {
    logger.warn('cache', `down ${i}`)
    pass(1000)
  }
  pass(60_000)
  logger.warn('cache', 'down again')
  assert.deepEqual(lines, ['down 0', 'down again (99 more like it before)'])
})

test('troubles do not silence each other', () => {
  const { logger, lines } = recording()
  logger.warn('cache', 'cache')
  logger.warn('sql', 'sql')
  assert.deepEqual(lines, ['cache', 'sql'])
})

test('a set-up mistake is printed once, however long ago', () => {
  const { logger, lines, pass } = recording()
  for (const trouble of ['proxy', 'proxy', 'cache']) {
    logger.warnOnce(trouble, trouble)
    pass(3_600_000)
  }
  assert.deepEqual(lines, ['proxy', 'cache'])
})

test('a logger that throws harms nobody', () => {
  const fail = () => {
    throw new Error('disk full')
  }
  const logger = new BurstLogger({ info: fail, warn: fail, error: fail }, () => 0)
  logger.info('a')
  logger.error('b')
  logger.warn('cache', 'down')
  logger.recovered('cache', 'well')
})

test('a recovery is said once, only after a trouble, and starts a new burst', () => {
  const { logger, lines } = recording()
  logger.recovered('cache', 'well')
  logger.warn('cache', 'down')
  logger.recovered('cache', 'well')
  logger.recovered('cache', 'well')
  logger.warn('cache', 'down')
  assert.deepEqual(lines, ['down', 'well', 'down'])
})

test('what passes by itself is printed only when it lasts', () => {
  const { logger, lines, pass } = recording()
  let now = 0
  const conflict = (beganAt: number, at: number): void => {
    pass(at - now)
    now = at
    logger.warnLasting('sql', beganAt, 10_000, `conflict at ${at}`)
  }
  conflict(0, 1_000)
  conflict(1_500, 9_999)
  logger.recovered('sql', 'well')
  conflict(10_000, 11_000)
  conflict(19_000, 19_999)
  assert.deepEqual(lines, [])
  conflict(20_000, 20_000)
  conflict(20_500, 21_000)
  logger.recovered('sql', 'well')
  conflict(30_000, 50_000)
  logger.recovered('sql', 'well')
  conflict(60_000, 61_000)
  conflict(3_600_000, 3_601_000)
  assert.deepEqual(lines, ['conflict at 20000', 'well', 'conflict at 50000', 'well'])
})
