import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { SILENT } from '../support/logger.js'
import { EngineRecorder } from './engine-recorder.js'
import { ledgerReport } from './ledger/report.js'
import { openEngine } from './row-recorder.fixture.js'

class Recorder extends EngineRecorder<string> {}

/** An engine on a file, whose database ends with it. Its rows are counted only. */
function bench(read?: () => Promise<number>, environment = systemEnvironment) {
  const folder = mkdtempSync(join(tmpdir(), 'wide-cache-engine-'))
  const url = `sqlite:${join(folder, 'test.db')}`
  const { wide, engine, engines } = openEngine<string, number>(
    {
      name: 'test',
      cache: memory(),
      database: url,
      collect: false,
      logger: SILENT,
      commit: async () => undefined,
      ...(read && { read }),
    },
    environment,
  )
  return {
    wide,
    engine,
    engines,
    /** The sums of its rows in SQL, after it has been closed. */
    sums: async () => {
      const database = sqlite(join(folder, 'test.db'))
      const { issued, committed, dropped } = await ledgerReport(database, 'test', () => undefined)
      await database.close()
      rmSync(folder, { recursive: true })
      return { issued, committed, dropped }
    },
  }
}

test('flush() and close() wait for rows that are on their way', async () => {
  const { engine, engines, sums } = bench()
  const arrives = (row: string) => async () => {
    await setImmediate()
    engine.writer.append(row)
  }
  const recorder = new Recorder(engines, {
    isWaiting: true,
    forwarded: arrives('first'),
    end: arrives('last'),
  })
  await recorder.flush()
  await assert.rejects(
    recorder.drain({ al: true } as never),
    /option "al" is unknown; drain takes all/,
  )
  assert.equal((await recorder.drain({ all: true })).committed, 1)
  assert.deepEqual(await recorder.close(), { committed: 1, quarantined: 0, inCache: 0, lost: 0 })
  assert.deepEqual(await sums(), { issued: 2, committed: 2, dropped: 0 })
})

test('a process that would end closes what has rows, and nothing else', async () => {
  for (const [held, waiting] of [
    [false, false],
    [true, false],
    [false, true],
  ]) {
    const work = new Set<() => void>()
    const beforeEnd: Environment['beforeEnd'] = (one) => {
      work.add(one)
      return () => void work.delete(one)
    }
    const { engine, engines, sums } = bench(undefined, { ...systemEnvironment, beforeEnd })
    work.clear()
    const arrives = async () => void (waiting && engine.writer.append('late'))
    const recorder = new Recorder(engines, {
      isWaiting: waiting ?? false,
      forwarded: arrives,
      end: arrives,
    })
    await recorder.migrate()
    if (held) engine.writer.append('held')
    for (const one of work) one()
    const rows = held || waiting ? 1 : 0
    assert.equal(engine.connections.isOpen, rows === 0)
    assert.equal(work.size, rows === 0 ? 1 : 0, 'what is closed is not told of the end')
    await recorder.close()
    assert.deepEqual(await sums(), { issued: rows, committed: rows, dropped: 0 })
  }
})

test('rows that come while close() waits for a reading are dropped, and SQL is told', async () => {
  let answer = (_: number): void => undefined
  let begins = (): void => undefined
  const begun = new Promise<void>((resolve) => (begins = resolve))
  const { wide, engine, sums } = bench(() => {
    begins()
    return new Promise((resolve) => (answer = resolve))
  })
  wide.append('in time')
  const figures = wide.read()
  await begun
  const closing = wide.close()
  await engine.writer.close()
  // More than writing the sums of the writer takes.
  for (let i = 0; i < 10; i++) await setImmediate()
  wide.append('late')
  answer(7)
  assert.equal(await figures, 7)
  await closing
  assert.deepEqual(await sums(), { issued: 2, committed: 1, dropped: 1 })
})
