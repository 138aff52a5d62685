/**
 * Assignment of processes to cores: what is measured has one core for itself, and the load and all
 * servers have the others. On shared cores each would be slower whenever another one is busy.
 */
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

export interface Cores {
  /** The setting as a result shows it. */
  readonly text: string
  /** Options of `fork()` that put a program onto the core of its own. */
  readonly alone: { readonly execPath?: string; readonly execArgv: readonly string[] }
}

const TOGETHER: Cores['alone'] = { execArgv: [] }

/**
 * Puts this process, and all that it starts from now on, onto all cores but the last one that it
 * may use. Without a second core, or without `taskset`, all stay where they are.
 */
export function divideCores(): Cores {
  try {
    const mine = ofList(taskset('-p', '-c', String(process.pid)))
    const own = mine.pop()
    if (own === undefined || mine.length === 0) {
      return { text: 'one for all: there is no second one', alone: TOGETHER }
    }
    // All its threads: some of Node's have begun already.
    taskset('-a', '-p', '-c', mine.join(','), String(process.pid))
    return {
      text: `the site alone on core ${own}, load and servers on ${mine.join(', ')}`,
      alone: { execPath: 'taskset', execArgv: ['-c', String(own), process.execPath] },
    }
  } catch {
    return {
      text: `${cpus().length} for all: without taskset nothing has one for itself`,
      alone: TOGETHER,
    }
  }
}

/** `[0, 2, 3]` of `pid 7's current affinity list: 0,2-3`. */
export function ofList(said: string): number[] {
  const list = /: ([\d,-]+)\s*$/.exec(said)?.[1]
  if (list === undefined) throw new Error(`taskset has said "${said}"`)
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number) as [number, number?]
    return Array.from({ length: last! - first + 1 }, (_, at) => first + at)
  })
}

function taskset(...args: string[]): string {
  return execFileSync('taskset', args, { encoding: 'utf8' })
}
