/** The demo forum in a process of its own, as `npm start` runs it, and a browser to look at it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { hasEnded, temporaryFolder, removeFolder } from '../servers/process.js'

const SERVER = fileURLToPath(new URL('../../examples/forum/server.js', import.meta.url))
const START_MS = 300_000

export interface Forum {
  readonly origin: string
  /** All that it has printed. */
  output(): string
  /** Ends it; resolves to its exit status, or the signal that has ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>
}

const running = new Set<ChildProcess>()

/** Kills the forums that run. One that a failed test leaves would keep its file from ending. */
export function killForums(): void {
  for (const child of running) child.kill('SIGKILL')
}

/** A forum's process, in an empty folder and with only the environment that is named. */
export function spawnForum(args: readonly string[] = [], env: Record<string, string> = {}) {
  const folder = temporaryFolder('forum')
  const child: ChildProcess = spawn(process.execPath, [SERVER, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (data) => {
      output += data
    })
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  )
  if (running.size === 0) process.once('exit', killForums)
  running.add(child)
  void ended.then(() => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killForums)
    removeFolder(folder)
  })
  return { child, ended, output: () => output }
}

/** Starts the forum on a free port and waits until it listens. */
export async function startForum(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Forum> {
  const { child, ended, output } = spawnForum(args, env)
  const end = performance.now() + START_MS
  for (;;) {
    // Its last line: the lines before may arrive alone.
    const port = /dashboard is on http:\/\/localhost:(\d+)/.exec(output())?.[1]
    if (port) {
      return {
        origin: `http://127.0.0.1:${port}`,
        output,
        stop: (signal = 'SIGTERM') => (child.kill(signal), ended),
      }
    }
    if (hasEnded(child) || performance.now() > end) {
      child.kill('SIGKILL')
      throw new Error(
        `The forum has not started (has the package been built? npm run build):\n${output()}`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
