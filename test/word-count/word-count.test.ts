/**
 * Documents change, processes are killed at any moment, and in the end all counts are what a
 * recount says.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../src/support/eventually.fixture.js'
import { fewOrMany } from '../scale.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { countWords, WordCount } from './word-count.js'

const KILLS = fewOrMany(4, 10)
const PROCESSES = 2
const CHANGES_BETWEEN_KILLS = 15

const folder = temporaryFolder('word-count')
after(() => removeFolder(folder))

interface Worker {
  readonly child: ChildProcess
  written: number
  errors: string[]
}

function start(database: string, external: string): Worker {
  const child = fork(
    fileURLToPath(new URL('./word-count-process.ts', import.meta.url)),
    [database, external],
    { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  )
  const worker: Worker = { child, written: 0, errors: [] }
  child.on('message', (message: { written?: number; error?: string }) => {
    worker.written = message.written ?? worker.written
    if (message.error) worker.errors.push(message.error)
  })
  return worker
}

async function kill({ child }: Worker): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const sorted = (counts: Iterable<[string, number]>): [string, number][] =>
  [...counts].sort(([a], [b]) => (a < b ? -1 : 1))

async function crashes(database: string, external: string): Promise<void> {
  const words = new WordCount(database, external)
  const workers: Worker[] = []
  try {
    await words.create()
    for (let i = 0; i < PROCESSES; i++) workers.push(start(database, external))
    for (let killed = 0; killed < KILLS; killed++) {
      const victim = workers[killed]!
      await eventually(
        `${CHANGES_BETWEEN_KILLS} changes`,
        () => victim.written >= CHANGES_BETWEEN_KILLS,
      ).catch((cause: unknown) => {
        throw new Error(`${victim.written} changes; ${victim.errors.join()}`, { cause })
      })
      await delay(Math.random() * 50)
      await kill(victim)
      workers.push(start(database, external))
    }
    await Promise.all(workers.map(kill))
    // What the killed held is free in ten seconds; here at once.
    await words.database.query('UPDATE export_queue_leases SET held_until = 0')
    const open = async (): Promise<number> => {
      const {
        rows: [row],
      } = await words.database.query(
        'SELECT (SELECT COUNT(*) FROM collision_free_map_queue) + ' +
          '(SELECT COUNT(*) FROM export_queue_entries) AS n',
      )
      return Number(row?.['n'])
    }
    await eventually('nothing is left to process', async () => {
      await words.counts.process()
      await words.exports.process()
      return (await open()) === 0
    })
    const { rows: documents } = await words.database.query('SELECT body FROM documents')
    const recount = sorted(countWords(documents.map(({ body }) => String(body))))
    const { rows: values } = await words.database.query(
      'SELECT map_key, map_value FROM collision_free_map_values',
    )
    assert.deepEqual(
      sorted(
        values.map((row) => [
          JSON.parse(String(row['map_key'])),
          JSON.parse(String(row['map_value'])),
        ]),
      ),
      recount,
    )
    const { rows: exported } = await words.external.query(
      'SELECT word, n FROM external_counts WHERE n > 0',
    )
    assert.deepEqual(sorted(exported.map(({ word, n }) => [String(word), Number(n)])), recount)
    assert(recount.length > 30, `${recount.length} words`)
    for (const [word, n] of recount.slice(0, 5)) assert.equal(await words.counts.get(word), n)
    assert.equal(await words.counts.parked(), 0)
  } finally {
    await Promise.all(workers.map(kill))
    await words.close()
  }
}

test(`SQLite: word counts and the external table equal a recount after ${KILLS} kills`, () =>
  crashes(`sqlite:${join(folder, 'words.db')}`, `sqlite:${join(folder, 'external.db')}`))

test(`MariaDB: word counts and the external table equal a recount after ${KILLS} kills`, async () =>
  crashes(await sharedMysqlUrl(), await sharedMysqlUrl()))
