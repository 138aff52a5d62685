/**
 * The wall clock of a machine, which a test steps for all programs of that machine at once: with
 * libfaketime, so that C and not only JavaScript is told the wrong time. Monotonic clocks stay
 * right.
 */
import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from './binaries.js'
import { temporaryFolder } from './process.js'

/** Programs look so often, in seconds, whether their clock has been stepped. */
const LOOK_SECONDS = 1

export interface HostClock {
  /** Environment of the programs of the machine. */
  readonly env: NodeJS.ProcessEnv
  /** From now on the clock is wrong by `ms` milliseconds. 0: it is right. */
  step(ms: number): void
}

/** Returns a clock that is right. @throws Error that says what to install */
export function hostClock(): HostClock {
  const library = execFileSync(binary('faketime'), ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'])
  const folder = temporaryFolder('host-clock')
  const file = join(folder, 'offset')
  const step = (ms: number): void => {
    // A program may read it at any moment.
    const next = join(folder, 'next')
    writeFileSync(next, `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1000}s\n`)
    renameSync(next, file)
  }
  step(0)
  return {
    env: {
      LD_PRELOAD: library.toString().trim(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: String(LOOK_SECONDS),
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    step,
  }
}
