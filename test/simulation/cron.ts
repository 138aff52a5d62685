import { createTask } from 'node-cron'
import { wallLastRead } from '../simulated-world/simulated-process.js'

interface Task {
  timeMatcher: { getNextMatch(from: Date): Date }
  getNextRuns(count: number): Date[]
}

/**
 * Lets node-cron tell runs from the wall clock of the virtual process that asks. Left to itself it
 * takes the machine's. A schedule reads its process's clock right before it asks for runs.
 */
export function runCronOnVirtualTime(): void {
  const task = createTask('* * * * * *', () => undefined, { timezone: 'UTC' }) as unknown as Task
  const prototype = Object.getPrototypeOf(task) as Task
  prototype.getNextRuns = function (count) {
    const runs: Date[] = []
    for (let from = new Date(wallLastRead()); runs.length < count; runs.push(from)) {
      from = this.timeMatcher.getNextMatch(from)
    }
    return runs
  }
}
