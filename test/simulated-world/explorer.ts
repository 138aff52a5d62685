/**
 * Explores the orders in which the answers of a cache, a database and a clock reach two or three
 * actors. The actors run real code, and each of their requests waits until the explorer lets it
 * come. A depth-first search runs a law once for each order with a bounded number of preemptions:
 * it replays the choices of the run before, up to the last one that has an alternative. An actor is
 * stopped only at a request for something that another actor uses too. Elsewhere the order makes no
 * difference.
 *
 * The form is that of loom (https://docs.rs/loom) and Shuttle (https://docs.rs/shuttle). The bound
 * is that of M. Musuvathi and S. Qadeer, "Iterative Context Bounding for Systematic Testing of
 * Multithreaded Programs", PLDI 2007.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { type Cache } from '../../src/cache/cache.js'
import { memory } from '../../src/cache/memory.js'
import type { Database, SqlRow, SqlValue } from '../../src/database/database.js'
import type { Environment } from '../../src/support/environment.js'
import { SEED } from '../commit-seed.js'
import { fewOrMany } from '../scale.js'
import { runCronOnVirtualTime, wallRead } from './cron.js'
import {
  type Asked,
  exploredCache,
  exploredDatabase,
  type SharedDatabase,
} from './explored-ports.js'
import { SqlEngine } from './sql-engine.js'
import { Touched } from './touched.js'
import { EPOCH } from './world.js'

runCronOnVirtualTime()

/**
 * The default of V8. The tests optimize functions later, which does not pay where the same code
 * runs in thousands of orders.
 */
setFlagsFromString('--interrupt-budget=67584')

/** Limits of one exploration. */
export interface Bounds {
  /** Folders of `sql/sqlite/` with the tables, with spaces between. @default 'wide-cache' */
  readonly tables?: string
  /**
   * Times that an order lets another actor go on though the present one could, holds an answer, or
   * lets a timer end before an answer has come. @default 2
   */
  readonly preemptions?: number
  /** Requests of an order that fail, carried out or not. @default 0 */
  readonly failures?: number
  /**
   * Timers that are due later than this, in ms, end only when nothing else can come: so a law need
   * not speak of an answer that comes too late for its time limit. @default Infinity
   */
  readonly earlyTimersMs?: number
  /** Orders after which the law counts as too large. @default 5,000 */
  readonly orders?: number
}

/** An actor's own view of what it shares with the others. */
export interface Ports {
  readonly cache: Cache
  readonly database: Database
  readonly environment: Environment
}

/** Something that an actor waits for. */
interface Request extends Asked<unknown> {
  readonly actor: string
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** Delivers the answer, once the request has been carried out and its answer is held. */
  deliver?: () => void
}

interface Timer {
  readonly actor: string
  readonly due: number
  readonly callback: () => void
}

/** Something that can happen next. */
interface Choice {
  readonly label: string
  readonly cost: 'free' | 'preemption' | 'failure'
  readonly take: () => Promise<void>
}

/** The choices of a run, each as the place in its list of alternatives. */
type Path = { index: number; readonly labels: readonly string[] }[]

/** The name of the work in `together` that makes a request. */
const asking = new AsyncLocalStorage<string>()

/** No law comes near it: more means that an actor goes round and round. */
const MAX_STEPS = 5_000

/** One in so many places has a second preemption; which ones, the commit draws. */
const SECOND_IN = fewOrMany(3, 1)

/**
 * Runs `law` once for each order within the bounds, and returns their number.
 *
 * @throws Error what the law has thrown, with the order in its message
 */
export async function explore(
  law: (orders: Orders) => Promise<void>,
  bounds: Bounds = {},
): Promise<number> {
  const touched = new Touched()
  // What is shared shows in the orders in which nobody is stopped.
  await exploreAll(law, { ...bounds, preemptions: 0, failures: 0 }, touched)
  touched.isComplete = true
  return exploreAll(law, bounds, touched)
}

async function exploreAll(
  law: (orders: Orders) => Promise<void>,
  bounds: Bounds,
  touched: Touched,
): Promise<number> {
  const path: Path = []
  for (let count = 1; ; count++) {
    const orders = new Orders(bounds, path, touched)
    try {
      await law(orders)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new Error(`${message}\nOrder ${count}:\n  ${orders.trace.join('\n  ')}`, {
        cause: error,
      })
    } finally {
      orders.close()
    }
    let last = path.at(-1)
    while (last && last.index === last.labels.length - 1) {
      path.pop()
      last = path.at(-1)
    }
    if (!last) return count
    last.index++
    if (count === (bounds.orders ?? 5_000)) throw new Error(`more than ${count} orders`)
  }
}

/** One run of a law: what its actors share, and the order in which they go on. */
export class Orders {
  /** What has happened side by side. */
  readonly trace: string[] = []
  /** The shared cache. Nothing of it waits. */
  readonly store: Cache
  /** Milliseconds by which the clock of the databases is ahead. */
  databaseAheadMs = 0
  readonly #tables: string
  readonly #databases = new Map<string, SharedDatabase>()
  readonly #path: Path
  readonly #touched: Touched
  readonly #earlyTimersMs: number
  #preemptions: number
  /** Where an actor was stopped last; 0: nowhere yet. */
  #preemptedAt = 0
  #failures: number
  #isExploring = false
  /** Number of choices so far. */
  #depth = 0
  #now = 0
  #ids = 0
  /** The actor that has gone on last. */
  #current = ''
  #justHeld: Request | undefined
  readonly #requests: Request[] = []
  readonly #timers: Timer[] = []

  constructor(
    { tables = 'wide-cache', preemptions = 2, failures = 0, earlyTimersMs = Infinity }: Bounds,
    path: Path,
    touched: Touched,
  ) {
    this.store = memory({ now: () => this.#now })
    this.#tables = tables
    this.#path = path
    this.#touched = touched
    this.#preemptions = preemptions
    this.#failures = failures
    this.#earlyTimersMs = earlyTimersMs
  }

  close(): void {
    for (const { engine } of this.#databases.values()) engine.giveBack()
  }

  /**
   * The ports of an actor. Callers of one object are actors, too: its requests are those of the
   * work in {@link together} that has led to them. `skewMs`: error of its wall clock. `database`:
   * name of its database.
   */
  actor(name: string, { skewMs = 0, database = '' } = {}): Ports {
    const ask = <T>(asked: Asked<T>): Promise<T> => this.#ask(asking.getStore() ?? name, asked)
    const now = (): number => EPOCH + this.#now
    return {
      cache: exploredCache(this.store, ask),
      database: exploredDatabase(this.#shared(database), () => now() + this.databaseAheadMs, ask),
      environment: {
        clock: {
          now: () => wallRead(now() + skewMs),
          elapsed: () => this.#now,
          after: (ms, callback) => {
            const timer = { actor: name, due: this.#now + Math.max(0, ms), callback }
            this.#timers.push(timer)
            return { cancel: () => remove(this.#timers, timer) }
          },
        },
        random: () => 0,
        newId: () => {
          const id = Buffer.alloc(16)
          id.writeUInt32BE(++this.#ids, 12)
          return id
        },
      },
    }
  }

  /** Runs a statement in a database at once. */
  look(sql: string, values: readonly SqlValue[] = [], database = ''): readonly SqlRow[] {
    return this.#shared(database).engine.run(sql, values).rows
  }

  /** Start of the keys of a database in the cache. */
  keyStart(database = ''): string {
    const [row] = this.look('SELECT hex(namespace) AS id FROM wide_cache_identity', [], database)
    return `wide-cache:${String(row!['id']).toLowerCase()}:`
  }

  /** Makes the database `copy` equal to another. */
  clone(copy: string, database = ''): void {
    this.#shared(copy).engine.copyFrom(this.#shared(database).engine)
  }

  /** Runs `work` in the one order in which nothing overtakes. Requests of all actors come. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#drive(work())
  }

  /** Lets `ms` milliseconds go by. */
  pass(ms: number): Promise<void> {
    return this.alone(
      () => new Promise((resolve) => this.actor('').environment.clock.after(ms, resolve)),
    )
  }

  /** Runs actors side by side, in this run's order. */
  async together(works: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
    this.#isExploring = true
    // Whoever has gone on before, any of them may begin.
    this.#current = ''
    const begun = Object.entries(works).map(([actor, work]) =>
      asking.run(actor, async () => {
        await this.#ask(actor, { what: 'begins', work: () => undefined })
        await work()
      }),
    )
    try {
      await this.#drive(Promise.all(begun))
    } finally {
      this.#isExploring = false
    }
  }

  #shared(name: string): SharedDatabase {
    const shared = this.#databases.get(name) ?? {
      name,
      engine: SqlEngine.take(this.#tables, name || 'database'),
      holder: undefined,
    }
    this.#databases.set(name, shared)
    return shared
  }

  #ask<T>(actor: string, asked: Asked<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#requests.push({ ...asked, actor, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  /** Lets requests come until `work` has ended. */
  async #drive<T>(work: Promise<T>): Promise<T> {
    let hasEnded = false
    const ended = (): void => void (hasEnded = true)
    work.then(ended, ended)
    for (let steps = 0; ; steps++) {
      await reactions()
      if (hasEnded) return work
      if (steps === MAX_STEPS) throw new Error('the actors go round and round')
      const choices = this.#choices()
      const chosen = this.#isExploring ? this.#choose(choices) : choices[0]
      if (!chosen) throw new Error('all actors wait, and nothing can come')
      if (chosen.cost === 'preemption') {
        this.#preemptions--
        this.#preemptedAt = this.#depth
      }
      if (chosen.cost === 'failure') this.#failures--
      if (this.#isExploring) this.trace.push(chosen.label)
      await chosen.take()
    }
  }

  /** Takes the choice of the run before, or the first one where that had none. */
  #choose(choices: readonly Choice[]): Choice | undefined {
    if (choices.length === 0) return undefined
    const labels = choices.map(({ label }) => label)
    const at = this.#depth++
    if (at === this.#path.length) this.#path.push({ index: 0, labels })
    const step = this.#path[at]!
    assert.deepEqual(labels, step.labels, 'a law does the same in the same order')
    return choices[step.index]
  }

  /** What can happen next. The first choice is that the present actor goes on. */
  #choices(): Choice[] {
    const ready = this.#ready()
    const own = ready.filter(({ actor }) => actor === this.#current)
    const others = firstOfEach(ready.filter(({ actor }) => actor !== this.#current))
    const going = own.length > 0 ? own.slice(0, 1) : others
    const choices = going.map((request) => this.#answer(request, 'free'))
    const [first] = going
    const mayPreempt = this.#mayPreempt
    if (mayPreempt) {
      for (const request of own.slice(1)) choices.push(this.#answer(request, 'preemption'))
      if (own[0] && this.#touched.isShared(own[0])) {
        for (const request of others) choices.push(this.#answer(request, 'preemption'))
      }
      for (const request of going) {
        if (request.deliver || ready.length === 1 || !this.#touched.isShared(request)) continue
        choices.push(this.#hold(request))
      }
    }
    if (this.#isExploring && this.#failures > 0) {
      for (const request of going) {
        if (!request.error || request.deliver) continue
        choices.push(this.#fail(request, false), this.#fail(request, true))
      }
    }
    const timer = this.#nextTimer
    if (timer && !first) choices.push(this.#end(timer, 'free'))
    else if (timer && mayPreempt && timer.due - this.#now <= this.#earlyTimersMs) {
      const comesBefore = (request: Request): boolean =>
        request.actor === timer.actor || this.#touched.isShared(request)
      if (going.some(comesBefore)) choices.push(this.#end(timer, 'preemption'))
    }
    return choices
  }

  get #mayPreempt(): boolean {
    if (!this.#isExploring || this.#preemptions === 0) return false
    const isDrawn = (this.#depth + this.#preemptedAt + SEED) % SECOND_IN === 0
    return this.#preemptedAt === 0 || isDrawn
  }

  /** Requests and held answers that can come. One that was just held waits for another one. */
  #ready(): Request[] {
    const ready = this.#requests.filter(({ deliver, isReady }) => deliver || (isReady?.() ?? true))
    const others = ready.filter((request) => request !== this.#justHeld)
    this.#justHeld = undefined
    return others.length > 0 ? others : ready
  }

  get #nextTimer(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) if (!next || timer.due < next.due) next = timer
    return next
  }

  /** The request is carried out, if it is not yet, and answered. */
  #answer(request: Request, cost: Choice['cost']): Choice {
    return {
      label: labelOf(request, request.deliver ? ', now answered' : ''),
      cost,
      take: async () => {
        this.#take(request)
        const deliver = request.deliver ?? (await carriedOut(request))
        deliver()
      },
    }
  }

  /** The request is carried out, and its answer comes later. */
  #hold(request: Request): Choice {
    return {
      label: labelOf(request, ', held'),
      cost: 'preemption',
      take: async () => {
        this.#touched.note(request)
        request.deliver = await carriedOut(request)
        this.#justHeld = request
        this.#current = ''
      },
    }
  }

  #fail(request: Request, isDone: boolean): Choice {
    return {
      label: labelOf(request, isDone ? ', done, but failed' : ', failed'),
      cost: 'failure',
      take: async () => {
        this.#take(request)
        if (isDone) await carriedOut(request)
        request.reject(request.error!())
      },
    }
  }

  #end(timer: Timer, cost: Choice['cost']): Choice {
    return {
      label: `${timer.actor}: timer at ${timer.due} ms`,
      cost,
      take: async () => {
        remove(this.#timers, timer)
        this.#current = timer.actor
        this.#now = Math.max(this.#now, timer.due)
        timer.callback()
      },
    }
  }

  #take(request: Request): void {
    remove(this.#requests, request)
    this.#current = request.actor
    if (this.#isExploring) this.#touched.note(request)
  }
}

/** Carries a request out. The result delivers its answer. */
async function carriedOut({ work, resolve, reject }: Request): Promise<() => void> {
  try {
    const result = await work()
    return () => resolve(result)
  } catch (error) {
    return () => reject(error)
  }
}

const LABEL_LENGTH = 120

function labelOf({ actor, what }: Request, outcome: string): string {
  return `${actor}: ${what.slice(0, LABEL_LENGTH)}${outcome}`
}

function firstOfEach(requests: readonly Request[]): Request[] {
  return requests.filter(
    ({ actor }, at) => requests.findIndex((other) => other.actor === actor) === at,
  )
}

function remove<T>(items: T[], item: T): void {
  const at = items.indexOf(item)
  if (at !== -1) items.splice(at, 1)
}

/** Resolves when all promise reactions under way have run. */
function reactions(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
