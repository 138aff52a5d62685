/** Which workers live for what they process, in processes of their own. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { CollisionFreeMap } from '../collision-free-map/collision-free-map.js'
import { openDatabase } from '../database/open.js'
import { ExportQueue } from '../export-queue/export-queue.js'

const folder = temporaryFolder('keeps-alive')
after(() => removeFolder(folder))

/** A worker that makes a queue or a map, prints what it processes, and then closes it. */
const WORKER = `
const [file, database, every] = process.argv.slice(1)
const { ExportQueue, CollisionFreeMap } = await import(file)
const Class = ExportQueue ?? CollisionFreeMap
const come = async ([{ key }]) => {
  console.log(key)
  setTimeout(() => worker.close())
}
const combine = (_, current, updates) => updates[0]
const given = ExportQueue ? { exporter: come } : { combine, onUpdate: come }
const schedule = every && { every: JSON.parse(every) }
const worker = new Class({ name: 'work', database, ...schedule, ...given })
`

/** Runs it up to its end, and returns its exit status and what it has printed. */
async function run(file: string, ...args: string[]): Promise<[number, string]> {
  const module = new URL(file, import.meta.url).href
  const child = spawn(
    process.execPath,
    [...TYPESCRIPT, '--input-type=module', '-e', WORKER, '--', module, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [printed, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return [status as number, printed]
}

const QUEUE = '../export-queue/export-queue.ts'
const MAP = '../collision-free-map/collision-free-map.ts'

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'work.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]
for (const [where, fresh] of databases) {
  test(`${where}: a worker that only makes a queue or map lives if it has a schedule`, async () => {
    const url = await fresh()
    const { database } = openDatabase(url)
    const queue = new ExportQueue<string, number>({
      name: 'work',
      database,
      every: false,
      exporter() {},
    })
    const map = new CollisionFreeMap<string, number>({
      name: 'work',
      database,
      every: false,
      combine: (_, current) => current,
    })
    await queue.migrate()
    await database.transaction((tx) => queue.add('an entry', 1, tx))
    await map.update([['an update', 1]])
    await Promise.all([queue.close(), map.close()])
    await database.close()
    // Nothing runs in a process whose timers do not keep it alive.
    assert.deepEqual(await run(QUEUE, url), [0, ''])
    assert.deepEqual(await run(MAP, url, 'false'), [0, ''])
    assert.deepEqual(await run(QUEUE, url, '10'), [0, 'an entry\n'])
    assert.deepEqual(await run(MAP, url, '"* * * * * *"'), [0, 'an update\n'])
  })
}
