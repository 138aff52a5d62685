/** A reporter of node:test that ends the process with the first test that fails, and says which. */
export default async function* firstFailure(events) {
  let passed = 0
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.skip === undefined && data.details.type !== 'suite') passed++
    if (type !== 'test:fail') continue
    process.stdout.write(`${data.name}\n`, () => process.exit(1))
    return
  }
  // Tests that all were left out by their names have judged nothing.
  if (passed === 0) process.exitCode = 2
  yield `${passed} passed\n`
}
