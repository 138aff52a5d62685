/**
 * Measures for how long one turn of the event loop keeps the others waiting. In CPU time of this
 * process, because on a busy machine the wall clock also measures the neighbours.
 */
export interface LongestTurn {
  /** The longest turn since the last call, in milliseconds of CPU time. */
  take(): number
  stop(): void
}

const LOOK_EVERY_MS = 5

export function watchTurns(): LongestTurn {
  let longest = 0
  let last = process.cpuUsage()
  const look = (): void => {
    const { user, system } = process.cpuUsage(last)
    last = process.cpuUsage()
    longest = Math.max(longest, (user + system) / 1000)
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  return {
    take() {
      look()
      const taken = longest
      longest = 0
      return taken
    },
    stop: () => clearInterval(timer),
  }
}
