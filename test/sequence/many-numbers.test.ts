/**
 * The promises of a sequence on real servers: half a million numbers (ten in `npm run
 * test:all`), 4 processes, 20 flushes and a restart of the cache.
 */
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { mysql } from '../../src/database/mysql/mysql.js'
import { fewOrMany } from '../scale.js'
import { startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import type { Taken, Task } from './taking-process.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

const NUMBERS = fewOrMany(500_000, 10_000_000)
const PROCESSES = 4
const CALLERS = 500
const BLOCK = 1000
const FLUSHES = 20
const LOSSES = FLUSHES + 1
/** The loss that is a restart. */
const RESTART = 10

test(`${NUMBERS} numbers, ${PROCESSES} processes, ${FLUSHES} flushes, one restart`, async (t) => {
  const memcached = await startMemcached()
  const url = await sharedMysqlUrl()
  const sql = mysql(url)
  const task: Task = {
    cache: `memcached://${memcached.address}`,
    database: url,
    block: BLOCK,
    numbers: NUMBERS / PROCESSES,
    callers: CALLERS,
    bound: 2 * NUMBERS,
    tellsEvery: 5_000,
    tellsAll: false,
  }
  const children: ChildProcess[] = []
  const latest: Taken[] = []
  let lost = 0
  /** Losses are spread over the numbers, so that each comes while numbers are being taken. */
  const loseOnce = async (): Promise<void> => {
    const taken = latest.reduce((sum, one) => sum + one.taken, 0)
    if (lost === LOSSES || taken < ((lost + 1) * NUMBERS) / (LOSSES + 2)) return
    lost++
    await (lost === RESTART ? memcached.restart() : memcached.flush())
  }
  // One after the other: while it restarts, a server cannot be flushed.
  let losing = Promise.resolve()
  const lose = (): Promise<void> => (losing = losing.then(loseOnce))
  try {
    await sql.migrate()
    await Promise.all(
      Array.from(
        { length: PROCESSES },
        (_, i) =>
          new Promise<void>((resolve, reject) => {
            const child = fork(fileURLToPath(new URL('./taking-process.ts', import.meta.url)), {
              execArgv: TYPESCRIPT,
              serialization: 'advanced',
            })
            children.push(child)
            child.on('message', (message) => {
              latest[i] = message as Taken
              lose().catch(reject)
            })
            child.on('exit', (code) =>
              latest[i]?.ended ? resolve() : reject(new Error(`A process has ended with ${code}`)),
            )
            child.send(task)
          }),
      ),
    )
    assert.equal(lost, LOSSES)
    const all = new Uint8Array(Math.ceil(task.bound / 8))
    let shared = 0
    for (const { bits, ended: _, ...told } of latest) {
      assert.deepEqual(told, { taken: task.numbers, twice: 0, shrunk: 0, rejected: [] })
      for (const [i, byte] of bits!.entries()) {
        shared += Number((all[i]! & byte) !== 0)
        all[i]! |= byte
      }
    }
    assert.equal(shared, 0, 'no number on two processes')
    const lastByte = all.findLastIndex((byte) => byte !== 0)
    const last = lastByte * 8 + Math.floor(Math.log2(all[lastByte]!))
    const skipped = last - NUMBERS
    const { rows } = await sql.query('SELECT generation FROM sequence_generations')
    t.diagnostic(`${skipped} numbers skipped, ${String(rows[0]?.['generation'])} generations`)
    // A restart breaks connections, and each process may have had one operation on its way.
    assert(skipped <= LOSSES * BLOCK + PROCESSES * CALLERS, `${skipped} numbers are skipped`)
    // How many depends on the machine: after three losses within ten seconds numbers come from SQL
    // alone for a while.
    const generations = Number(rows[0]?.['generation'])
    assert(
      generations >= 4 && generations <= 1 + LOSSES,
      `${generations} generations: a loss opens one at most`,
    )
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await sql.close()
    await memcached.stop()
  }
})
