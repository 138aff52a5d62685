/**
 * A reporter of node:test that ends the process with the first test that fails, and says which. It
 * also ends a process in which no test ends any more. While coverage is recorded it goes on, and
 * writes the names of the tests that fail to a file beside that of the coverage.
 */
import { writeFileSync } from 'node:fs'

/** Those of the process: a test may replace the global ones. */
const { setTimeout, clearTimeout } = globalThis
const STANDSTILL_MS = 60_000
const STANDSTILL_CODE = 3

export default async function* firstFailure(events) {
  const coverage = process.env.WIDE_CACHE_TEST_COVERAGE
  const failed = []
  let passed = 0
  let timer = watch()
  for await (const { type, data } of events) {
    clearTimeout(timer)
    timer = watch()
    const isTest = data.details?.type !== 'suite' && data.skip === undefined
    if (type === 'test:pass' && isTest) passed++
    if (coverage && data.nesting === 0 && /^test:(?:pass|fail)$/.test(type)) {
      // All have ended, though one that failed may have left what keeps the process alive.
      writeFileSync(`${coverage}.failed`, JSON.stringify(failed))
      end(failed[0] ?? `${passed} passed`, passed === 0 ? 2 : Math.sign(failed.length))
      return
    }
    if (type !== 'test:fail') continue
    if (!coverage) {
      end(data.name, 1)
      return
    }
    if (isTest) failed.push(data.name)
  }
  clearTimeout(timer)
  // Tests that all were left out by their names have judged nothing.
  if (passed === 0) process.exitCode = 2
  yield `${failed[0] ?? `${passed} passed`}\n`
}

function watch() {
  const says = `no test has ended within ${STANDSTILL_MS / 1000} s`
  return setTimeout(() => end(says, STANDSTILL_CODE), STANDSTILL_MS).unref()
}

function end(says, code) {
  process.stdout.write(`${says}\n`, () => process.exit(code))
}
