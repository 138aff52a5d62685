/**
 * A place for one process of a site. When its process ends, the next one begins a new life there,
 * and each life has a name, a file for its truth and one for its log.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ASSIGNMENT, type Assignment, monotonic, type Order } from './assignment.js'
import type { UsesOptions } from './uses.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

/** One process from its start to its end. */
export interface Life {
  readonly name: string
  readonly truth: string
  readonly log: string
  /** The signal that was to end it. */
  asked: 'SIGKILL' | 'SIGTERM' | undefined
  /** Time at which it was killed, in milliseconds since the Unix epoch. */
  killedAt: number
  /**
   * It has ended in a way that nobody asked for: by itself, or not within {@link END_TIMEOUT_MS} of
   * SIGTERM.
   */
  failure: string | undefined
}

/** Options of a place. */
export interface SlotOptions extends UsesOptions {
  readonly name: string
  readonly machine: string
  readonly records: boolean
  /** Environment of its processes, beside that of this one. */
  readonly env: NodeJS.ProcessEnv
}

/** Time that a process may take to end in order: longer than `closeTimeoutMs`. */
const END_TIMEOUT_MS = 200_000

const SCRIPT = fileURLToPath(new URL('./site-process.ts', import.meta.url))

/** Processes of all places. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export class Slot {
  readonly options: SlotOptions
  readonly lives: Life[] = []
  readonly #folder: string
  #child: ChildProcess | undefined

  constructor(options: SlotOptions, folder: string) {
    this.options = options
    this.#folder = folder
  }

  get alive(): boolean {
    return this.#child !== undefined
  }

  /** Begins a life, unless one is under way. */
  start(): void {
    if (this.#child) return
    const name = `${this.options.name}-${this.lives.length + 1}`
    const life: Life = {
      name,
      truth: join(this.#folder, `${name}.truth`),
      log: join(this.#folder, `${name}.log`),
      asked: undefined,
      killedAt: 0,
      failure: undefined,
    }
    this.lives.push(life)
    const { site, cache, database, collects, otherGeometry, apart, timeZone, records } =
      this.options
    const assignment: Assignment = {
      site,
      cache,
      database,
      collects,
      otherGeometry,
      apart,
      timeZone,
      life: name,
      truth: records ? life.truth : undefined,
      rightAtZero: Date.now() - monotonic(),
    }
    const log = openSync(life.log, 'a')
    const child = fork(SCRIPT, {
      execArgv: TYPESCRIPT,
      env: { ...process.env, ...this.options.env, [ASSIGNMENT]: JSON.stringify(assignment) },
      stdio: ['ignore', log, log, 'ipc'],
    })
    closeSync(log)
    this.#child = child
    running.add(child)
    child.on('error', () => undefined)
    child.once('exit', (code, signal) => {
      running.delete(child)
      this.#child = undefined
      // A SIGTERM that comes before its handler ends a process that has not begun.
      const asExpected =
        life.asked !== undefined &&
        (signal === life.asked || (life.asked === 'SIGTERM' && code === 0))
      if (!asExpected) life.failure ??= `ended with ${signal ?? code}`
    })
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#child
    const life = this.lives.at(-1)
    if (!child || !life) return
    life.asked = 'SIGKILL'
    life.killedAt = Date.now()
    await signalled(child, 'SIGKILL')
  }

  /** SIGTERM, and waits until all is closed. One that does not end is killed, and has failed. */
  async end(): Promise<void> {
    const child = this.#child
    const life = this.lives.at(-1)
    if (!child || !life) return
    life.asked = 'SIGTERM'
    const ended = signalled(child, 'SIGTERM')
    const timeout = new AbortController()
    const inTime = await Promise.race([
      ended.then(() => true),
      delay(END_TIMEOUT_MS, false, { signal: timeout.signal, ref: false }),
    ])
    timeout.abort()
    if (inTime) return
    life.failure = `still running ${END_TIMEOUT_MS / 1000} s after SIGTERM`
    await this.kill()
  }

  /** SIGSTOP, or SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  order(order: Order): void {
    if (this.#child?.connected) this.#child.send(order, () => undefined)
  }
}

/** All lives there were in these places. */
export function livesOf(slots: readonly Slot[]): Life[] {
  return slots.flatMap(({ lives }) => lives)
}

async function signalled(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}
