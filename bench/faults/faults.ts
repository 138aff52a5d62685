/** Faults of servers and processes while visits come. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Cell } from './cells.js'

export interface Fault {
  readonly name: string
  /** The part that fails. Faults of different targets can happen at the same time. */
  readonly target: 'nothing' | 'web' | 'cache' | 'collector' | 'database'
  /** An outage: how long. */
  readonly seconds?: number
  /** Resolves when the fault is over. */
  run(cell: Cell): Promise<void>
}

/** Time that a supervisor takes to restart a process. */
const SUPERVISOR_MS = 1500
/** The lengths of an outage. */
export const OUTAGES = [2, 10] as const

export const NOTHING: Fault = { name: 'nothing', target: 'nothing', run: async () => undefined }
const WEB_KILLED: Fault = {
  name: 'web process killed',
  target: 'web',
  async run(cell) {
    cell.killWebProcess()
    await delay(SUPERVISOR_MS)
    await cell.startWebProcesses()
  },
}
export const COLLECTOR_KILLED: Fault = {
  name: 'collector killed',
  target: 'collector',
  async run(cell) {
    cell.killWorker()
    await delay(SUPERVISOR_MS)
    await cell.startWorker()
  },
}

/** That of a web process is the last one: the writers that come after it have no phase. */
export const FAULTS: readonly Fault[] = [
  NOTHING,
  {
    name: 'cache flushed',
    target: 'cache',
    run: async ({ stores }) => void (await Promise.all(stores.map((store) => store.flush()))),
  },
  {
    // SIGKILL, and started again at once.
    name: 'cache restarted',
    target: 'cache',
    run: async ({ stores }) => void (await Promise.all(stores.map((store) => store.restart()))),
  },
  ...OUTAGES.map(cacheSilent),
  COLLECTOR_KILLED,
  ...OUTAGES.map(databaseAway),
  WEB_KILLED,
]

/** Connections stay open, and nobody answers. */
function cacheSilent(seconds: number): Fault {
  return {
    name: `cache silent ${seconds} s`,
    target: 'cache',
    seconds,
    async run({ stores }) {
      for (const store of stores) store.pause()
      await delay(seconds * 1000)
      for (const store of stores) store.resume()
    },
  }
}

/** Connections are cut, and new ones refused. */
function databaseAway(seconds: number): Fault {
  return {
    name: `database away ${seconds} s`,
    target: 'database',
    seconds,
    async run(cell) {
      await cell.cutDatabase()
      await delay(seconds * 1000)
      await cell.restoreDatabase()
    },
  }
}
