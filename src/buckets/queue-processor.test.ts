import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlite } from '../database/sqlite/sqlite.js'
import { ExportQueueIn } from '../export-queue/export-queue.js'
import { systemEnvironment } from '../support/environment.js'
import { SILENT } from '../support/logger.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'

const EVERY_MS = 100

test('close() resolves when the run under way has ended and its lease is given back', async () => {
  const clock = new ManualClock(0)
  const database = sqlite(':memory:')
  const steps: string[] = []
  let [begin, end] = [(): void => undefined, (): void => undefined]
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const queue = new ExportQueueIn<string, number>(
    {
      id: 'queue',
      database,
      every: EVERY_MS,
      logger: SILENT,
      async exporter() {
        steps.push('exports')
        begin()
        await new Promise<void>((resolve) => (end = resolve))
        steps.push('has exported')
      },
    },
    { ...systemEnvironment, clock },
  )
  await queue.migrate()
  await database.transaction((tx) => queue.add('key', 1, tx))
  await clock.advance(EVERY_MS)
  await begun
  const closed = queue.close().then(() => steps.push('is closed'))
  await flushPromises()
  end()
  await closed
  assert.deepEqual(steps, ['exports', 'has exported', 'is closed'])
  const { rows } = await database.query('SELECT lease_owner, lease_until FROM export_queues')
  assert.deepEqual(rows, [{ lease_owner: null, lease_until: 0 }])
  const left = await database.query('SELECT id FROM export_queue_entries')
  assert.deepEqual(left.rows, [])
  await database.close()
})
