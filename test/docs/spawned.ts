/**
 * A program of the docs in a process group of its own, so that none of it outlives the test, and
 * all of it can be looked for.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { eventually } from '../../src/support/eventually.fixture.js'

export interface Spawned {
  readonly pid: number
  /** All that it has printed. */
  output(): string
  /**
   * Resolves to the first group of `pattern` in what it prints. @throws Error if it ends before, or
   * takes half a minute
   */
  says(pattern: RegExp): Promise<string>
  /**
   * Its exit status, or the signal that has ended it, once no process of its group is left. @throws
   * Error if one is, or it takes half a minute
   */
  ended(): Promise<number | NodeJS.Signals | null>
  /** SIGKILL for all of its group that is left. */
  kill(): void
}

export function spawned(
  command: string,
  args: readonly string[],
  cwd: string,
  env: { readonly [name: string]: string } = {},
): Spawned {
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const child: ChildProcess = spawn(command, args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: path, ...env },
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command} does not start`)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (data) => {
      output += data
    })
  }
  let status: number | NodeJS.Signals | null | undefined
  child.once('close', (code, signal) => {
    status = code ?? signal
  })
  const killGroup = (): void => void (isGroup(pid) && process.kill(-pid, 'SIGKILL'))
  process.once('exit', killGroup)
  return {
    pid,
    output: () => output,
    kill: killGroup,
    says: (pattern) =>
      eventually(`${pattern} of ${command}`, () => {
        if (status !== undefined) throw new Error(`${command} has ended with ${status}:\n${output}`)
        const found = pattern.exec(output)
        return found ? (found[1] ?? found[0]) : undefined
      }),
    async ended() {
      try {
        await eventually(`the end of ${command}`, () => status !== undefined)
        await eventually(`the end of all processes of ${command}`, () => !isGroup(pid))
      } finally {
        killGroup()
        process.off('exit', killGroup)
      }
      return status ?? null
    },
  }
}

function isGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 0)
  } catch {
    return false
  }
}
