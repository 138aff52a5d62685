/** A sequence's processes killed, and its database restarted, while numbers are being taken. */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fewOrMany } from '../scale.js'
import { startMariadb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import type { Taken, Task } from './taking-process.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

const PROCESSES = 3
const CALLERS = 20
const NUMBERS = fewOrMany(20_000, 60_000)
const BLOCK = 100

test('a process is replaced after SIGKILL, and the database too: no number twice', async () => {
  const [memcached, mariadb] = await Promise.all([startMemcached(), startMariadb()])
  const task: Task = {
    cache: `memcached://${memcached.address}`,
    database: mariadb.url(),
    block: BLOCK,
    numbers: NUMBERS,
    callers: CALLERS,
    bound: (PROCESSES + 1) * NUMBERS + 100_000,
    tellsEvery: 500,
    tellsAll: true,
  }
  const children: ChildProcess[] = []
  const latest: Taken[] = []
  /** Resolves when the process has taken `share` of its numbers, or has ended. */
  const start = (i: number, share: number) => {
    const child = fork(fileURLToPath(new URL('./taking-process.ts', import.meta.url)), {
      execArgv: TYPESCRIPT,
      serialization: 'advanced',
    })
    children[i] = child
    const ended = new Promise((resolve) => child.on('exit', resolve))
    const shared = new Promise((resolve) =>
      child.on('message', (message) => {
        latest[i] = message as Taken
        if (latest[i]!.taken >= share * NUMBERS) resolve(undefined)
      }),
    )
    child.send(task)
    return { ended, shared: Promise.race([shared, ended]) }
  }
  try {
    const first = Array.from({ length: PROCESSES }, (_, i) => start(i, 0.3))
    await first[0]!.shared
    children[0]!.kill('SIGKILL')
    await first[0]!.ended
    const other = start(PROCESSES, 0.1)
    await other.shared
    await mariadb.kill()
    await mariadb.restart()
    await Promise.all([first[1]!.ended, first[2]!.ended, other.ended])

    const all = new Uint8Array(Math.ceil(task.bound / 8))
    let count = 0
    for (const [i, { bits, ended, taken, ...wrong }] of latest.entries()) {
      assert.deepEqual(wrong, { twice: 0, shrunk: 0, rejected: [] })
      assert.equal(ended === true && taken === NUMBERS, i > 0, `process ${i} has taken ${taken}`)
      count += taken
      for (const [at, byte] of bits!.entries()) {
        assert.equal(all[at]! & byte, 0, `numbers about ${at * 8} on two processes`)
        all[at]! |= byte
      }
    }
    const last = all.findLastIndex((byte) => byte !== 0) * 8 + 7
    // What the killed process had taken and not told of, and what was on its way to it.
    const untold = task.tellsEvery + 2 * CALLERS
    assert(last - count <= untold + 8, `${last - count} numbers are missing`)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all([memcached.stop(), mariadb.stop()])
  }
})
