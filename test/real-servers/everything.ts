/**
 * All that the package writes, as one process of a site does it: rows through the cache, counters,
 * a sequence and a map. Counts what was answered, so that a test can say in the end whether each
 * happened once.
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { CollisionFreeMap } from '../../src/collision-free-map/index.js'
import { GlobalCounter, ShardedCounter } from '../../src/counters/index.js'
import type { Database } from '../../src/database/database.js'
import { mayBeDone } from '../../src/connections/retry.js'
import { Sequence } from '../../src/sequence/index.js'
import { SILENT } from '../../src/support/logger.js'
import {
  insertRecorded,
  openRecorded,
  type Recorded,
  type RecordedOptions,
  rowsOf,
} from './recorded.js'

const ROWS_A_TURN = 20
const TURN_MS = 20
const MAP_KEY = 'updates'

/** Answers of one sort of work. */
interface Answers {
  done: number
  /** May or may not have been done. */
  unknown: number
  refused: number
}

export interface Site {
  readonly name: string
  readonly cache: string
}

export class Everything {
  readonly sharded: Answers = { done: 0, unknown: 0, refused: 0 }
  readonly global: Answers = { done: 0, unknown: 0, refused: 0 }
  readonly sequence: Answers = { done: 0, unknown: 0, refused: 0 }
  readonly map: Answers = { done: 0, unknown: 0, refused: 0 }
  readonly values: number[] = []
  readonly numbers: number[] = []
  readonly #writer: number
  readonly #wide: ReturnType<typeof openRecorded>
  readonly #counters: {
    sharded: ShardedCounter
    global: GlobalCounter
    sequence: Sequence
    map: CollisionFreeMap<string, number>
  }
  #rows = 0
  #stopped = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(writer: number, { name, cache }: Site, database: Database, options: RecordedOptions) {
    this.#writer = writer
    this.#wide = openRecorded(
      { cache, database, collect: '* * * * * *' },
      { name, cellTtlSeconds: 60, closeTimeoutMs: 20_000, commit: insertRecorded, ...options },
    )
    this.#counters = {
      sharded: new ShardedCounter({ name, database, cache, shards: 5 }),
      global: new GlobalCounter({ name, database, cache, shards: 5 }),
      sequence: new Sequence({ name, database, cache, block: 100 }),
      map: new CollisionFreeMap<string, number>({
        name: name,
        database,
        every: 200,
        buckets: 3,
        combine: (_key, current = 0, updates) => updates.reduce((a, b) => a + b, current),
        logger: SILENT,
      }),
    }
  }

  /** The rows that it has recorded. */
  get recorded(): Recorded[] {
    return rowsOf(this.#writer, 0, this.#rows)
  }

  start(): void {
    const { sharded, global, sequence, map } = this.#counters
    this.#running = Promise.all([
      this.#repeat(async () => {
        for (const row of rowsOf(this.#writer, this.#rows, this.#rows + ROWS_A_TURN)) {
          this.#wide.append(row)
        }
        this.#rows += ROWS_A_TURN
      }),
      this.#counted(this.sharded, () => sharded.increment()),
      this.#counted(this.global, async () => void this.values.push(await global.increment())),
      this.#counted(this.sequence, async () => void this.numbers.push(await sequence.next())),
      this.#counted(this.map, () => map.update([[MAP_KEY, 1]])),
    ])
  }

  /** Stops, and resolves when everything under way has been answered. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  flush(): Promise<void> {
    return this.#wide.flush()
  }

  /** Returns what SQL has in the end, by this process. */
  async totals() {
    const { sharded, map } = this.#counters
    await map.process()
    return {
      sharded: await sharded.get({ exact: true }),
      map: (await map.get(MAP_KEY)) ?? 0,
      ledger: await this.#wide.ledger(),
    }
  }

  /** Closes it all, and returns how many rows were lost at the end. */
  async close(): Promise<number> {
    this.#stopped = true
    const { lost } = await this.#wide.close()
    await Promise.all(Object.values(this.#counters).map((one) => one.close()))
    return lost
  }

  #counted(answers: Answers, work: () => Promise<unknown>): Promise<void> {
    return this.#repeat(async () => {
      try {
        await work()
        answers.done++
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : ''
        const unknown = code === 'COUNTER_OUTCOME_UNKNOWN' || mayBeDone(error)
        if (unknown) answers.unknown++
        else answers.refused++
      }
    })
  }

  async #repeat(work: () => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await work()
      await delay(TURN_MS)
    }
  }
}

/** Expects that what each process was answered is what happened, once. */
export async function assertOnce(processes: readonly Everything[]): Promise<void> {
  const values = processes.flatMap((one) => one.values)
  assert.equal(new Set(values).size, values.length, 'no value of the global counter twice')
  const numbers = processes.flatMap((one) => one.numbers)
  assert.equal(new Set(numbers).size, numbers.length, 'no number of the sequence twice')
  for (const one of processes) {
    assert(one.sequence.done > 0 && one.global.done > 0 && one.map.done > 0)
    assert.deepEqual(
      one.numbers.filter((number, index) => index > 0 && number <= one.numbers[index - 1]!),
      [],
      'the numbers of a process grow',
    )
  }
  const { sharded, map } = await processes[0]!.totals()
  for (const [name, total] of [
    ['sharded', sharded],
    ['map', map],
  ] as const) {
    const done = processes.reduce((sum, one) => sum + one[name].done, 0)
    const unknown = processes.reduce((sum, one) => sum + one[name].unknown, 0)
    assert(done > 0 && done <= total && total <= done + unknown, `${name}: ${total} of ${done}`)
  }
}
