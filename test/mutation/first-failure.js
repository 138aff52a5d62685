/**
 * A reporter of node:test that ends the process with the first test that fails, and says which. It
 * also ends a process in which no test ends any more.
 */
const STANDSTILL_MS = 60_000
const STANDSTILL_CODE = 3

export default async function* firstFailure(events) {
  let passed = 0
  let timer = watch()
  for await (const { type, data } of events) {
    clearTimeout(timer)
    timer = watch()
    if (type === 'test:pass' && data.skip === undefined && data.details.type !== 'suite') passed++
    if (type !== 'test:fail') continue
    end(data.name, 1)
    return
  }
  clearTimeout(timer)
  // Tests that all were left out by their names have judged nothing.
  if (passed === 0) process.exitCode = 2
  yield `${passed} passed\n`
}

function watch() {
  const says = `no test has ended within ${STANDSTILL_MS / 1000} s`
  return setTimeout(() => end(says, STANDSTILL_CODE), STANDSTILL_MS).unref()
}

function end(says, code) {
  process.stdout.write(`${says}\n`, () => process.exit(code))
}
