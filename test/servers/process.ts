/**
 * A server process of the tests: killed, and its folder removed, when this process ends, however it
 * ends.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const running = new Set<ChildProcess>()
const folders = new Set<string>()
const STOP_TIMEOUT_MS = 20_000
let watching = false

/** A new folder under the system's own for temporary files. */
export function temporaryFolder(name: string): string {
  watchExit()
  const folder = mkdtempSync(join(tmpdir(), `wide-cache-${name}-`))
  folders.add(folder)
  return folder
}

/** Removes it now, not only at exit. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}

/**
 * Starts a program; what it prints goes to `log`. `env`: added to that of this process. `user`: the
 * ids of the user that it runs as.
 */
export function startProcess(
  command: string,
  args: readonly string[],
  log: string,
  env: NodeJS.ProcessEnv = {},
  user: { readonly uid?: number; readonly gid?: number } = {},
): ChildProcess {
  watchExit()
  const output = openSync(log, 'a')
  const child = spawn(command, args, {
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
    ...user,
  })
  closeSync(output)
  running.add(child)
  child.on('error', () => running.delete(child))
  child.on('exit', () => running.delete(child))
  child.unref()
  return child
}

/** Ends a process with `signal` and waits until it is gone; one that takes too long is killed. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.ref()
  child.kill(signal)
  const timeout = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await ended
  clearTimeout(timeout)
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** The end of a log, for the message of a failure. */
export function tail(log: string): string {
  return readFileSync(log, 'utf8').split('\n').slice(-15).join('\n')
}

function watchExit(): void {
  if (watching) return
  watching = true
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL')
    // A killed server may still be writing.
    for (const folder of folders) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
  })
  // By default a signal ends the process without the event `exit`.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1))
  }
}
