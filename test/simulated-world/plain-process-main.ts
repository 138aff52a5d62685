/** Calls what it is told to, and answers with what it returns: see plain-process.ts. */
import type { Answer, Call } from './plain-process.js'

// Ends with a test that was ended.
process.on('disconnect', () => process.exit())
process.on('message', async (message) => {
  const { module, name, args } = message as Call
  let answer: Answer
  try {
    const exports = (await import(module)) as Record<string, (...args: unknown[]) => unknown>
    answer = { value: await exports[name]!(...args) }
  } catch (error) {
    answer = { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  process.send!(answer)
})
