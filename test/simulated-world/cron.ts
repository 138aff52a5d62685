import { createTask } from 'node-cron'

interface Matcher {
  readonly pattern: string
  getNextMatch(from: Date): Date
}

interface Task {
  timeMatcher: Matcher
  getNextRuns(count: number): Date[]
}

/** What a simulated wall clock has shown in this turn of the event loop. */
let shown: number | undefined

/** Notes what a simulated wall clock shows to the process that reads it, and returns it. */
export function wallRead(now: number): number {
  if (shown === undefined) queueMicrotask(() => (shown = undefined))
  shown = now
  return now
}

/**
 * Lets node-cron tell moments from the wall clock of the virtual process that asks. Left to itself
 * it takes the machine's. A schedule reads its process's clock right before it asks.
 */
export function runCronOnVirtualTime(): void {
  const task = createTask('* * * * * *', () => undefined, { timezone: 'UTC' }) as unknown as Task
  const prototype = Object.getPrototypeOf(task) as Task
  const { getNextRuns } = prototype
  prototype.getNextRuns = function (count) {
    if (shown === undefined) return getNextRuns.call(this, count)
    const runs: Date[] = []
    for (let from = new Date(shown); runs.length < count; runs.push(from)) {
      from = nextMatch(this.timeMatcher, from)
    }
    return runs
  }
}

/** All worlds begin at the same moment, so that they ask the same again and again. */
const known = new Map<string, number>()
const MAX_KNOWN = 100_000

/** In UTC, and of full seconds, as a line of cron has them. */
function nextMatch(matcher: Matcher, from: Date): Date {
  const key = `${matcher.pattern} ${Math.floor(from.getTime() / 1000)}`
  let next = known.get(key)
  if (next === undefined) {
    next = matcher.getNextMatch(from).getTime()
    if (known.size < MAX_KNOWN) known.set(key, next)
  }
  return new Date(next)
}
