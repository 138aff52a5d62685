import type { Random } from './random.js'

/** The moment at which a world begins by default, in milliseconds since the Unix epoch. */
export const EPOCH = 1_700_000_000_000

/** No run comes near it: more means that something goes round and round. */
const MAX_EVENTS = 300_000

interface Event {
  readonly time: number
  readonly order: number
  run: (() => void) | undefined
}

/** A promise of the design that has been broken. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise'
}

/**
 * Simulated time: events in the order of their moment, each followed by all the promise reactions
 * that it sets off before the next one happens. What happens is hashed, so that two runs of a seed
 * can be compared.
 */
export class World {
  readonly seed: number
  readonly random: Random
  /** Prints what happens. */
  readonly verbose: boolean
  /** The moment at which it begins, in milliseconds since the Unix epoch. */
  readonly epoch: number
  now = 0
  /** Faults are on. */
  faulty = true
  events = 0
  hash = 0x811c9dc5
  #broken: BrokenPromise | undefined
  #order = 0
  readonly #heap: Event[] = []

  constructor(seed: number, random: Random, verbose: boolean, epoch = EPOCH) {
    this.epoch = epoch
    this.seed = seed
    this.random = random
    this.verbose = verbose
  }

  /** Runs `run` `ms` milliseconds from now; the function returned calls it off. */
  after(ms: number, run: () => void): () => void {
    const event: Event = { time: this.now + Math.max(0, Math.ceil(ms)), order: this.#order++, run }
    this.#push(event)
    return () => {
      event.run = undefined
    }
  }

  /** Enters something into the trace. */
  note(what: string): void {
    if (this.verbose) console.log(`${(this.now / 1000).toFixed(3).padStart(9)} ${what}`)
    let hash = Math.imul(this.hash ^ this.now, 0x01000193)
    for (let i = 0; i < what.length; i++) hash = Math.imul(hash ^ what.charCodeAt(i), 0x01000193)
    this.hash = hash >>> 0
  }

  /** Says that a promise is broken: the run ends with the first of these. */
  fail(what: string): void {
    if (this.verbose && !this.#broken) {
      console.log(`${(this.now / 1000).toFixed(3).padStart(9)} BROKEN: ${what}`)
    }
    this.#broken ??= new BrokenPromise(what)
  }

  check(condition: boolean, what: () => string): void {
    if (!condition) this.fail(what())
  }

  /** Lets `ms` milliseconds go by. @throws BrokenPromise */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms
    await reactions()
    for (let next = this.#heap[0]; next && next.time <= until; next = this.#heap[0]) {
      this.#pop()
      if (!next.run) continue
      this.now = next.time
      if (++this.events > MAX_EVENTS) this.fail('the run does not end')
      next.run()
      await reactions()
      if (this.#broken) throw this.#broken
    }
    this.now = until
    if (this.#broken) throw this.#broken
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function before(a: Event, b: Event): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order)
}

/**
 * Resolves when all promise reactions under way have run: they come before the event loop's next
 * turn.
 */
function reactions(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
