/**
 * Both counters in several processes, on servers that are flushed, restarted and killed under them.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startMariadb } from '../../test/servers/mariadb.js'
import { startMemcached } from '../../test/servers/memcached.js'
import { sharedMemcached, sharedMysqlUrl } from '../../test/servers/shared.js'
import { GlobalCounter } from './global-counter.js'
import { ShardedCounter } from './sharded-counter.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

const PROCESSES = 4
const PROGRAM = fileURLToPath(new URL('./counter-process.fixture.ts', import.meta.url))

class CountingProcess {
  readonly values: number[] = []
  begun = 0
  refused = 0
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>

  constructor(counter: 'global' | 'sharded', database: string, cache: string) {
    this.#child = fork(PROGRAM, [counter, database, cache], { execArgv: TYPESCRIPT })
    // What it has said may be read after its end.
    this.#ended = Promise.all([once(this.#child, 'exit'), once(this.#child, 'disconnect')])
    this.#child.on('message', (said: { begun?: number; value?: number; refused?: number }) => {
      if (said.begun) this.begun++
      if (said.refused) this.refused++
      if (said.value !== undefined) this.values.push(said.value)
    })
  }

  async counted(more: number): Promise<void> {
    const end = this.values.length + more
    while (this.values.length < end) {
      assert.equal(this.#child.exitCode, null, 'the process has ended')
      await delay(10)
    }
  }

  async stop(): Promise<void> {
    this.#child.send('stop')
    await this.#ended
    assert.equal(this.#child.exitCode, 0)
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

/** Returns the acknowledged values, and how many increments may have been counted beside them. */
function sums(processes: readonly CountingProcess[]) {
  const values = processes.flatMap((one) => one.values)
  const open = processes.reduce((sum, one) => sum + one.begun - one.refused - one.values.length, 0)
  return { values, open }
}

async function running(
  counter: 'global' | 'sharded',
  database: string,
  cache: string,
): Promise<CountingProcess[]> {
  const processes = Array.from(
    { length: PROCESSES },
    () => new CountingProcess(counter, database, cache),
  )
  await Promise.all(processes.map((one) => one.counted(20)))
  return processes
}

test('global counter: four processes and restarts: no value twice, none lost', async () => {
  const [memcached, url] = [await startMemcached(), await sharedMysqlUrl()]
  const cache = `memcached://${memcached.address}`
  const processes = await running('global', url, cache)
  const killed = processes[0]!
  for (let n = 0; n < 30; n++) {
    await delay(Math.random() * 100)
    await memcached.flush()
    if (n === 10) await killed.kill()
    if (n === 20) {
      await memcached.kill()
      await delay(200)
      await memcached.start()
    }
  }
  await Promise.all(processes.slice(1).map((one) => one.counted(200)))
  await memcached.flush()
  await Promise.all(processes.slice(1).map((one) => one.stop()))
  const { values, open } = sums(processes)
  assert(killed.values.length >= 20 && values.length > 500)
  assert.equal(new Set(values).size, values.length, 'unique')
  const counter = new GlobalCounter({ name: 'test', database: url, cache })
  const total = await counter.get()
  assert(total >= Math.max(...values) && total >= values.length, `${total} of ${values.length}`)
  assert(total <= values.length + open, `${total} of ${values.length} and ${open} unknown`)
  await memcached.flush()
  assert((await counter.increment()) > Math.max(...values))
  await counter.close()
  await memcached.stop()
})

test('sharded counter: four processes and crashes: the total is the acknowledged sum', async () => {
  const mariadb = await startMariadb()
  const cache = `memcached://${await sharedMemcached()}`
  const processes = await running('sharded', mariadb.url(), cache)
  await processes[0]!.kill()
  await mariadb.kill()
  await mariadb.restart()
  await Promise.all(processes.slice(1).map((one) => one.counted(20)))
  await Promise.all(processes.slice(1).map((one) => one.stop()))
  const { values, open } = sums(processes)
  const counter = new ShardedCounter({ name: 'test', database: mariadb.url(), cache })
  const total = await counter.get({ exact: true })
  assert(
    total >= values.length && total <= values.length + open,
    `${total} of ${values.length} and ${open} unknown`,
  )
  assert(open <= 4 * PROCESSES, `${open} unknown`)
  await counter.close()
  await mariadb.stop()
})
