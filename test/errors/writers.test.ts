/**
 * Each failure of each request of what the package writes for callers. A call that resolves has
 * written once; one that rejects has not, unless its error says that this is not known.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MapOfParts, mapParts } from '../../src/collision-free-map/collision-free-map.js'
import { mayBeDone } from '../../src/connections/retry.js'
import { GlobalCounterIn } from '../../src/counters/global-counter.js'
import { OutcomeUnknownError } from '../../src/counters/outcome.js'
import { ShardedCounterIn } from '../../src/counters/sharded-counter.js'
import { ExportQueueIn } from '../../src/export-queue/export-queue.js'
import { SequenceIn } from '../../src/sequence/sequence.js'
import { sleep } from '../../src/support/clock.js'
import { SILENT } from '../../src/support/logger.js'
import { openRows } from '../../src/wide-cache/row-recorder.fixture.js'
import type { Ports } from '../simulated-world/explorer.js'
import { fewOrMany } from '../scale.js'
import { MeteredSite } from '../simulated-world/metered-site.js'
import { FAILURES, type Failure } from './failures.js'

/** More than any call retries, and the time in which late tries come. */
const CALL_MS = 120_000
const LATE_MS = 15_000
/** Time in which a writer brings what it holds, once servers answer. */
const BROUGHT_MS = 90_000
/** Time in which a collector brings a row. */
const DRAINED_MS = 9_000
/** The first requests of the calls, of which each fails in one case. */
const REQUESTS = fewOrMany(8, 60)
const CALLS = 3

interface Writer {
  /** A call of a caller. */
  readonly write: (call: number) => Promise<unknown>
  /** How often the calls have been written. Asked when no request fails any more. */
  readonly written: (results: readonly unknown[]) => Promise<number>
}

const WRITERS: Readonly<Record<string, (ports: Ports) => Writer>> = {
  'ShardedCounter.increment': ({ environment, ...ports }) => {
    const counter = new ShardedCounterIn({ name: 'law', ...ports }, environment)
    return { write: () => counter.increment(), written: () => counter.get({ exact: true }) }
  },
  'GlobalCounter.increment': ({ environment, ...ports }) => {
    const counter = new GlobalCounterIn({ name: 'law', chanceToWrite: 1, ...ports }, environment)
    // An increment whose answer is lost may leave a gap. No value is given twice.
    return { write: () => counter.increment(), written: distinct }
  },
  'Sequence.next': ({ environment, ...ports }) => {
    const sequence = new SequenceIn({ name: 'law', logger: SILENT, ...ports }, environment)
    return { write: () => sequence.next(), written: distinct }
  },
  'CollisionFreeMap.update': ({ environment, database }) => {
    const combine = (_: string, value: number | undefined, updates: Iterable<number>): number =>
      [...updates].reduce((sum, one) => sum + one, value ?? 0)
    const map = new MapOfParts(
      mapParts<string, number>({ name: 'law', database, combine, logger: SILENT }, environment),
    )
    return {
      write: () => map.update([['key', 1]]),
      written: async () => {
        await map.process()
        return (await map.get('key')) ?? 0
      },
    }
  },
  'ExportQueue.add': ({ environment, database }) => {
    const exported = new Set<string>()
    const queue = new ExportQueueIn<string, number>(
      {
        name: 'law',
        database,
        logger: SILENT,
        exporter: async (entries) => {
          for (const { key, version } of entries) exported.add(`${key} ${version}`)
        },
      },
      environment,
    )
    return {
      write: (call) => database.transaction((tx) => queue.add(`key ${call}`, 1, tx)),
      written: async () => {
        await queue.process()
        return exported.size
      },
    }
  },
  'WideCache.append': ({ environment, ...ports }) => {
    const wide = openRows<string>(
      {
        name: 'law',
        logger: SILENT,
        ...ports,
        commit: async (rows, tx) => {
          for (const row of rows) {
            await tx.query('INSERT INTO sharded_counters VALUES (?, ?, 1)', [row, row])
          }
        },
      },
      environment,
    )
    return {
      write: async (call) => {
        wide.append(`row ${call}`)
        await sleep(environment.clock, DRAINED_MS)
      },
      // Rows that SQL has refused are kept in quarantine.
      written: async () => {
        await sleep(environment.clock, BROUGHT_MS)
        const { rows } = await ports.database.query('SELECT name FROM sharded_counters')
        const { committed, quarantined } = await wide.ledger()
        assert.equal(committed, rows.length)
        return committed + quarantined
      },
    }
  },
}

/** The values of the calls that resolved, each once. */
async function distinct(results: readonly unknown[]): Promise<number> {
  return new Set(results).size
}

interface Fails {
  readonly failure: Failure
  readonly isDone: boolean
  /** The request that fails, counted from 1, and for how many requests. */
  readonly from: number
  readonly times: number
  /** All later ones fail by it. They are not done. */
  readonly later?: Failure | undefined
}

/** What may follow one failure: none, or others for good. */
function laterThan(failure: Failure, times: number): (Failure | undefined)[] {
  const others = FAILURES.filter((one) => one.of === failure.of && one !== failure)
  return times === 1 && failure.mayBeDone ? [undefined, ...others] : [undefined]
}

/** Runs the calls, and returns whether the failing request was made. */
async function obeys(name: string, fails: Fails): Promise<boolean> {
  const site = new MeteredSite()
  try {
    const { write, written } = WRITERS[name]!(site.process('one'))
    let requests = 0
    site.failure = (isOfCache) => {
      if (isOfCache !== (fails.failure.of === 'cache')) return undefined
      const at = ++requests - fails.from
      if (at < 0) return undefined
      if (at < fails.times) return { error: fails.failure.make(), isDone: fails.isDone }
      return fails.later && { error: fails.later.make(), isDone: false }
    }
    const answer = async <T>(work: Promise<T>): Promise<T> => {
      let isOver = false
      void work.catch(() => undefined).finally(() => (isOver = true))
      for (let ms = 0; !isOver && ms < CALL_MS; ms += 1_000) await site.world.pass(1_000)
      assert(isOver, 'the call ends')
      return work
    }
    const calls = Array.from({ length: CALLS }, (_, call) => write(call))
    const ended = await answer(Promise.allSettled(calls))
    site.failure = undefined
    await site.world.pass(LATE_MS)
    const resolved = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const unknown = ended.filter(
      (one) =>
        one.status === 'rejected' &&
        (mayBeDone(one.reason) || one.reason instanceof OutcomeUnknownError),
    )
    const count = await answer(written(resolved))
    assert(
      count >= resolved.length && count <= resolved.length + unknown.length,
      `${count} are written, of ${resolved.length} calls that resolved and ` +
        `${unknown.length} of which nobody knows`,
    )
    return requests >= fails.from
  } finally {
    site.close()
  }
}

/** All cases, each at one request after the other. */
function* cases(): Generator<Omit<Fails, 'from'>> {
  for (const failure of FAILURES.filter(({ of }) => of !== 'code')) {
    for (const isDone of failure.mayBeDone ? [false, true] : [false]) {
      for (const times of [1, Infinity]) {
        for (const later of laterThan(failure, times)) yield { failure, isDone, times, later }
      }
    }
  }
}

for (const name of Object.keys(WRITERS)) {
  test(`${name}: whatever request fails and how, each call is written once`, async () => {
    let count = 0
    for (const one of cases()) {
      for (let from = 1; from <= REQUESTS; from++, count++) {
        try {
          if (!(await obeys(name, { ...one, from }))) break
        } catch (error) {
          const message = `${error instanceof Error ? error.message : error}`
          const { failure, later, ...rest } = one
          const what = { from, ...rest, failure: failure.name, later: later?.name }
          throw new Error(`${message}: ${JSON.stringify(what)}`, { cause: error })
        }
      }
    }
    assert(count > 10, `${count} cases`)
  })
}
