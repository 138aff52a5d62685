/**
 * Notes which test calls which function, so that a mutant is judged only by the tests that run it.
 * Only this thread is seen: a source that other threads and processes run has no functions here.
 */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { afterEach, beforeEach, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

/** Names the file for the coverage of a run of tests. */
export const COVERAGE_VARIABLE = 'WIDE_CACHE_TEST_COVERAGE'

/** Functions that were called: by path below the project, `start-end` of each. */
export type Calls = Record<string, string[]>

export interface Coverage {
  /** All functions, called or not. */
  readonly functions: Calls
  /** By no test alone: while files were loaded, or between tests. */
  readonly shared: Calls
  readonly byTest: Record<string, Calls>
  /** Milliseconds that each test took. */
  readonly took: Record<string, number>
}

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

/** Writes the coverage of this process to `file` at its end. */
export function recordCoverage(file: string): void {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const coverage: Coverage = { functions: {}, shared: {}, byTest: {}, took: {} }
  let began = 0
  const take = (calls: Calls): void =>
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error) throw error
      addRanges(coverage.functions, taken.result, () => true)
      addRanges(calls, taken.result, ({ count }) => count > 0)
    })
  // One by one, whatever a suite says: calls of two at once would be told of the first to end.
  let ended = Promise.resolve()
  let end = (): void => undefined
  beforeEach(async (context) => {
    const before = ended
    let endOfThis = (): void => undefined
    ended = new Promise((resolve) => (endOfThis = resolve))
    await before
    end = endOfThis
    // There is no `afterEach` of a test that skips itself.
    const skip = (context as TestContext).skip.bind(context)
    Object.assign(context, {
      skip(message?: string) {
        skip(message)
        endOfThis()
      },
    })
    take(coverage.shared)
    began = performance.now()
  })
  afterEach(({ name }) => {
    coverage.took[name] = performance.now() - began
    take((coverage.byTest[name] ??= {}))
    end()
  })
  process.once('exit', () => writeFileSync(file, JSON.stringify(coverage)))
}

function addRanges(
  calls: Calls,
  scripts: readonly ScriptCoverage[],
  wanted: (range: Range) => boolean,
): void {
  const folder = `${process.cwd()}/`
  for (const { url, functions } of scripts) {
    const path = url.startsWith('file:') ? fileURLToPath(url) : ''
    if (!path.startsWith(`${folder}src/`)) continue
    const file = path.slice(folder.length)
    // The first range is that of the whole function.
    const ranges = functions.map(({ ranges: [whole] }) => whole!).filter(wanted)
    const names = ranges.map(({ startOffset, endOffset }) => `${startOffset}-${endOffset}`)
    calls[file] = [...new Set([...(calls[file] ?? []), ...names])]
  }
}

/**
 * Names of the tests that call the function at `at`, the quickest first. `undefined`: any may,
 * because it is called between tests, when the file is loaded, or elsewhere.
 *
 * @param file path from the root of the project
 */
export function testsThatCall(
  { functions, shared, byTest, took }: Coverage,
  file: string,
  at: number,
): string[] | undefined {
  const [innermost] = (functions[file] ?? [])
    .map((range) => ({ range, ends: range.split('-').map(Number) as [number, number] }))
    .filter(({ ends: [start, end] }) => start > 0 && start <= at && at < end)
    .sort((a, b) => a.ends[1] - a.ends[0] - (b.ends[1] - b.ends[0]))
  if (!innermost || shared[file]?.includes(innermost.range)) return undefined
  return Object.keys(byTest)
    .filter((name) => byTest[name]![file]?.includes(innermost.range))
    .sort((a, b) => took[a]! - took[b]!)
}
