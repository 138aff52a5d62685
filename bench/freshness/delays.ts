/**
 * Visits that one process has recorded, and figures that it has seen, all by the machine's wall
 * clock, in milliseconds.
 */
export interface Watched {
  /** Time at which each of its visits was recorded. */
  readonly recorded: readonly number[]
  /** Times at which its figures first said so many page views. */
  readonly seen: readonly (readonly [at: number, pageViews: number])[]
}

/**
 * Returns how long after each visit the figures of each process had as many page views as there
 * were visits up to it.
 *
 * @throws Error if some process has not seen all visits
 */
export function delaysOf(processes: readonly Watched[]): number[] {
  const recorded = processes.flatMap((process) => process.recorded).sort((a, b) => a - b)
  const delays: number[] = []
  for (const { seen } of processes) {
    let known = 0
    for (const [at, pageViews] of seen) {
      if (pageViews > recorded.length) throw new Error(`${pageViews} page views are too many`)
      for (; known < pageViews; known++) delays.push(at - recorded[known]!)
    }
    if (known < recorded.length) {
      throw new Error(`a process has seen ${known} of ${recorded.length} visits`)
    }
  }
  return delays.sort((a, b) => a - b)
}
