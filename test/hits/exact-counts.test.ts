/**
 * Several processes count, collectors are killed, memcached and MariaDB are restarted, and in the
 * end the counts are exact.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createHits } from '../../src/hits/item-hits.js'
import { startMariadb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import type { Assignment, Recorded } from './hits-process.js'

const RECORDERS = 3
const HITS_A_RECORDER = 20_000
const KILLS = 4
const GRID = {
  name: 'site',
  repeatSeconds: 4,
  layerSeconds: 1,
  drainAfterLayers: 2,
  closeTimeoutMs: 20_000,
}

type Message = { ready?: boolean; done?: boolean; recorded?: Recorded[] }

test('many processes record hits of the same viewers under faults: counts are exact', async () => {
  const [memcached, mariadb] = await Promise.all([startMemcached(), startMariadb()])
  await mariadb.createDatabase('site')
  const ports = { cache: `memcached://${memcached.address}`, database: mariadb.url('site') }
  const children: ChildProcess[] = []
  const start = (assignment: Partial<Assignment>): ChildProcess => {
    const child = fork(fileURLToPath(new URL('./hits-process.ts', import.meta.url)), {
      env: {
        ...process.env,
        ASSIGNMENT: JSON.stringify({ ...GRID, ...ports, collect: false, ...assignment }),
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child.stderr?.resume()
    children.push(child)
    return child
  }
  const startCollector = (): ChildProcess => start({ hits: 0, collect: '* * * * * *' })
  /** The first message with `field`. */
  const said = (child: ChildProcess, field: keyof Message): Promise<Message> =>
    new Promise((resolve, reject) => {
      child.on('message', (message: Message) => message[field] !== undefined && resolve(message))
      child.once('exit', (code, signal) =>
        reject(new Error(`a process ended (${code ?? signal}) before it said "${field}"`)),
      )
    })
  const kill = async (child: ChildProcess): Promise<void> => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  try {
    let collector = startCollector()
    await said(collector, 'ready')
    const recorders = Array.from({ length: RECORDERS }, () => start({ hits: HITS_A_RECORDER }))
    const done = Promise.all(recorders.map((child) => said(child, 'done')))
    await Promise.all(recorders.map((child) => said(child, 'ready')))
    for (let kills = 0; kills < KILLS; kills++) {
      await delay(1_000 + Math.random() * 500)
      if (kills === 0) await memcached.flush()
      if (kills === 1) await memcached.restart()
      if (kills === 2) await mariadb.restart()
      await kill(collector)
      collector = startCollector()
      await said(collector, 'ready')
    }
    await done
    const ends = recorders.map((child) => said(child, 'recorded'))
    for (const child of recorders) child.kill('SIGTERM')
    const recorded = (await Promise.all(ends)).flatMap((message) => message.recorded ?? [])
    assert.equal(recorded.length, RECORDERS * HITS_A_RECORDER)

    const expected = new Map<string, number>()
    const seen = new Set<string>()
    for (const [item, viewer, window] of recorded) {
      const key = `${item}, ${viewer}, ${window}`
      if (viewer !== null && seen.has(key)) continue
      seen.add(key)
      expected.set(item, (expected.get(item) ?? 0) + 1)
    }
    const reader = createHits({ ...GRID, ...ports, collect: false })
    await reader.drain({ all: true })
    assert.deepEqual(
      new Map([...(await reader.counts(expected.keys()))].sort()),
      new Map([...expected].sort()),
    )
    await kill(collector)
    await reader.drain()
    assert.deepEqual(new Map((await reader.top(1_000)).sort()), new Map([...expected].sort()))
    const { duplicate: _, ...sums } = await reader.ledger()
    assert.deepEqual(sums, {
      issued: recorded.length,
      committed: recorded.length,
      quarantined: 0,
      dropped: 0,
      outstanding: 0,
      owed: 0,
      lost: 0,
    })
    await reader.close()
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all([memcached.kill(), mariadb.stop()])
  }
})
