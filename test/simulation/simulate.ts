import assert from 'node:assert/strict'
import type { WideCacheOptions } from '../../src/wide-cache/options.js'
import type { LedgerReport } from '../../src/wide-cache/report.js'
import type { CloseReport } from '../../src/wide-cache/writer.js'
import { checkAtEnd } from './end.js'
import type { Heart } from './heart.js'
import { VirtualProcess } from './process.js'
import { Random } from './random.js'
import { type Scenario, scenarioOf } from './scenario.js'
import { type Ailment, GRID, MAX_OUTBOX_BYTES, observeOutboxes, ROW_ID_BYTES, type RowTruth, Truth } from './truth.js'
import { isCell, layerOf, serverOf, VirtualCache, VirtualServer } from './virtual-cache.js'
import { DatabaseClient, INSERT_ROWS, VirtualDatabase } from './virtual-database.js'
import { EPOCH, World } from './world.js'

/** A row as the simulated site records it. */
interface SimulatedRow {
  readonly truth: RowTruth
  readonly size: number
}

type SimulatedWideCache = InstanceType<Heart['WideCache']>

/** A process with its wide cache, and what has become of it. */
export interface Actor {
  readonly process: VirtualProcess
  readonly wideCache: SimulatedWideCache
  readonly writes: boolean
  closing: boolean
  closed: CloseReport | undefined
}

/** What a run has shown, beside having broken no promise. */
export interface Outcome {
  /** Equal for equal runs. */
  readonly hash: number
  readonly events: number
  readonly rows: number
}

const BIG_ROW_BYTES = 60_000
const BIG_FRAME_BYTES = 200_000
const SMALL_FRAME_BYTES = 1024
/** How far a clock may be wrong. */
const MAX_SKEW_MS = 300_000
const STALL_MS = 20_000

/** The truth of each run under way, by its seed. */
const truths = new Map<number, Truth>()
const watched = new WeakSet<Heart>()

/** Runs one seed. @throws BrokenPromise */
export async function simulate(heart: Heart, seed: number, { verbose = false } = {}): Promise<Outcome> {
  if (!watched.has(heart)) {
    watched.add(heart)
    observeOutboxes(heart, truths)
  }
  const random = new Random(seed)
  const scenario = scenarioOf(random)
  if (verbose) console.log(scenario)
  const run = new Run(heart, new World(seed, random, verbose), scenario)
  truths.set(seed, run.truth)
  try {
    await run.play()
  } finally {
    truths.delete(seed)
    run.database.close()
    for (const { process } of run.actors) process.alive = false
  }
  return { hash: run.world.hash, events: run.world.events, rows: run.truth.rows.length }
}

/** One run: its actors, its disasters and its end. */
export class Run {
  readonly heart: Heart
  readonly world: World
  readonly scenario: Scenario
  readonly truth: Truth
  readonly servers: VirtualServer[]
  readonly database: VirtualDatabase
  readonly actors: Actor[] = []
  #collectorsAwayUntil = 0

  constructor(heart: Heart, world: World, scenario: Scenario) {
    this.heart = heart
    this.world = world
    this.scenario = scenario
    this.truth = new Truth(world, scenario)
    this.servers = Array.from({ length: scenario.servers }, (_, i) => new VirtualServer(`cache${i}`, world, scenario, this.truth))
    this.database = new VirtualDatabase(world, scenario, this.truth)
  }

  async play(): Promise<void> {
    const { world, scenario } = this
    const { random } = world
    for (let i = 0; i < scenario.writers; i++) this.#startWriter()
    for (let i = 0; i < scenario.collectors; i++) this.#startCollector()
    for (let i = 0; i < scenario.disasters; i++) world.after(random.between(0, scenario.faultsMs), () => this.#disaster())
    if (scenario.pauseMs > 0) {
      await world.pass(scenario.faultsMs / 2)
      this.#collectorsAwayUntil = world.now + scenario.pauseMs
      await world.pass(scenario.pauseMs)
      for (const actor of this.actors) if (actor.writes) this.#scheduleRows(actor, scenario.faultsMs / 2)
      await world.pass(scenario.faultsMs / 2)
    } else {
      await world.pass(scenario.faultsMs)
    }
    await this.#heal()
    await checkAtEnd(this)
  }

  /** A process that writes and, perhaps, collects. */
  #startWriter(): void {
    const actor = this.start(true)
    const { faultsMs, pauseMs } = this.scenario
    const until = pauseMs > 0 && this.world.now < faultsMs / 2 ? faultsMs / 2 : faultsMs + pauseMs
    this.#scheduleRows(actor, Math.max(1000, until - this.world.now))
    if (this.world.random.chance(0.2)) this.#keepCollecting(actor)
  }

  #startCollector(): void {
    this.#keepCollecting(this.start(false))
  }

  start(writes: boolean): Actor {
    const { world, scenario } = this
    const { random } = world
    const index = this.actors.length + 1
    const skew = scenario.clocksWrong ? random.between(-MAX_SKEW_MS, MAX_SKEW_MS) : 0
    const process = new VirtualProcess(world, index, `p${index}`, skew)
    const servers = scenario.differentLists && index === 1 ? this.servers.slice(0, -1) : this.servers
    const cache = new VirtualCache(process, servers.length > 0 ? servers : this.servers, scenario, this.truth, this.heart)
    const options: WideCacheOptions<unknown> = {
      name: GRID,
      cache,
      database: new DatabaseClient(process, this.database, this.heart),
      width: scenario.width,
      layerSeconds: scenario.layerSeconds,
      drainAfterLayers: scenario.drainAfterLayers,
      cellTtlSeconds: scenario.cellTtlSeconds,
      confirmSeconds: scenario.confirmSeconds,
      flushMs: scenario.flushMs,
      closeTimeoutMs: scenario.closeTimeoutMs,
      maxFrameBytes: scenario.bigRows ? BIG_FRAME_BYTES : SMALL_FRAME_BYTES,
      maxOutboxBytes: MAX_OUTBOX_BYTES,
      collect: false,
      logger: world.verbose ? { info: (text) => world.note(text), warn: (text) => world.note(text), error: (text) => world.note(text) } : SILENT,
      codec: {
        encode: (row, target, offset) => {
          const { truth, size } = row as SimulatedRow
          if (truth.ailment === 'not encodable') throw new TypeError('not encodable')
          if (offset + size > target.length) return -1
          target.fill(0, offset, offset + size)
          target.writeUIntBE(truth.id, offset, ROW_ID_BYTES)
          return offset + size
        },
        decode: (bytes) => {
          const row = this.truth.rows[bytes.readUIntBE(0, ROW_ID_BYTES)]!
          if (row.ailment === 'not decodable') throw new RangeError('not decodable')
          return row
        },
      },
      commit: async (rows, tx) => {
        const truths = rows as RowTruth[]
        await tx.query(INSERT_ROWS, truths.map((row) => row.id))
        if (truths.some((row) => row.ailment === 'refused by commit')) throw new RangeError('refused by commit')
      },
    }
    const wideCache = new this.heart.WideCache<unknown>(options, process.environment)
    const actor: Actor = { process, wideCache, writes, closing: false, closed: undefined }
    this.actors.push(actor)
    this.truth.processes.push(process)
    world.note(`${process.name} starts`)
    return actor
  }

  /** Bursts of rows spread over some time. */
  #scheduleRows(actor: Actor, ms: number): void {
    const { random } = this.world
    const bursts = random.between(1, this.scenario.bigRows ? 12 : 15)
    for (let i = 0; i < bursts; i++) this.world.after(random.between(0, ms), () => actor.process.deliver(() => this.append(actor, random.pick([1, 1, 2, 5, 30]))))
    if (random.chance(0.2)) this.world.after(random.between(0, ms), () => actor.process.deliver(() => this.#flush(actor)))
    if (random.chance(0.2)) this.world.after(random.between(0, ms), () => actor.process.deliver(() => void this.close(actor)))
  }

  append(actor: Actor, rows: number): void {
    if (actor.closing) return
    const { world, scenario, truth } = this
    world.note(`${actor.process.name} appends ${rows}`)
    for (let i = 0; i < rows; i++) {
      const ailment: Ailment = scenario.poison && world.random.chance(0.02) ? world.random.pick(AILMENTS) : 'none'
      const size = ailment === 'too large' ? BIG_FRAME_BYTES : scenario.bigRows ? BIG_ROW_BYTES : world.random.between(ROW_ID_BYTES, 90)
      try {
        actor.wideCache.append({ truth: truth.row(actor.process, ailment), size })
      } catch (error) {
        world.fail(`append() throws ${String(error)}`)
      }
    }
  }

  /** What is flushed is in the cache or in SQL, or flush() says that it is not. */
  async #flush(actor: Actor): Promise<void> {
    const before = this.truth.rows.length
    try {
      await actor.wideCache.flush()
    } catch {
      return
    }
    const mine = [...this.truth.frames.values()].filter((frame) => frame.process === actor.process.index && frame.rows[0]!.id < before)
    for (const frame of mine) {
      this.world.check(frame.stored || this.truth.settled(frame), () => `flush() has resolved though frame ${frame.key} is nowhere`)
    }
  }

  /** An orderly end. */
  async close(actor: Actor): Promise<void> {
    if (actor.closing) return
    actor.closing = true
    this.world.note(`${actor.process.name} closes`)
    const began = this.world.now
    const wasWell = !this.truth.faulty
    const report = await actor.wideCache.close()
    actor.closed = report
    // One wait between tries may lie across the deadline.
    this.world.check(this.world.now - began <= this.scenario.closeTimeoutMs + STALL_MS + 1000, () => `close() took ${this.world.now - began} ms`)
    if (wasWell) this.world.check(report.inCache === 0 && report.lost === 0, () => `${actor.process.name} closes with ${JSON.stringify(report)} though all is well`)
    actor.process.kill(`has closed ${JSON.stringify(report)}`)
  }

  /** Drains on a schedule, as long as the process lives. */
  #keepCollecting(actor: Actor): void {
    const { jitterMs, collectEveryMs } = this.scenario
    const again = (ms: number) => this.world.after(ms + this.world.random.between(0, jitterMs), () => actor.process.deliver(run))
    const run = async () => {
      const away = this.#collectorsAwayUntil - this.world.now
      if (away > 0) return void again(away)
      if (actor.closing) return
      const { process } = actor
      process.silentNow.clear()
      try {
        await actor.wideCache.drain({ all: this.world.random.chance(0.1) })
        for (const server of process.silentSince.keys()) if (!process.silentNow.has(server)) process.silentSince.delete(server)
      } catch (error) {
        this.world.note(`${process.name} drain: ${String(error)}`)
        this.world.check(error instanceof Error && error.name !== 'AssertionError' && error.name !== 'TypeError', () => `drain() throws ${error instanceof Error ? error.stack : error}`)
      }
      // As a cron line does: all of them at the same moments.
      again(collectEveryMs - (this.world.now % collectEveryMs))
    }
    again(collectEveryMs - (this.world.now % collectEveryMs))
  }

  #disaster(): void {
    const { world } = this
    const { random } = world
    const actor = random.pick(this.actors)
    const server = random.pick(this.servers)
    const kind = random.pick([
      'stall', 'stall', 'kill', 'kill', 'clock step', 'evict', 'evict', 'flush', 'restart', 'server away', 'cache away', 'server gone',
      'database away', 'collectors away', 'foreign bytes', 'prefixes evicted',
    ] as const)
    world.note(`disaster: ${kind}`)
    switch (kind) {
      case 'stall': actor.process.stalledUntil = world.now + random.pick([500, STALL_MS]); break
      case 'kill':
        actor.process.kill('is killed')
        if (actor.writes) this.#startWriter()
        else this.#startCollector()
        break
      case 'clock step': actor.process.skew += random.between(-MAX_SKEW_MS, MAX_SKEW_MS); break
      case 'evict': for (const key of [...server.items.keys()]) if (random.chance(0.5)) server.remove(key); break
      case 'prefixes evicted': for (const key of [...server.items.keys()]) if (!isCell(key)) server.remove(key); break
      case 'flush': server.clear(); break
      case 'restart':
        server.clear()
        server.downUntil = Math.max(server.downUntil, world.now + random.pick([100, 2000]))
        break
      case 'server away': server.downUntil = Math.max(server.downUntil, world.now + random.pick([1000, 10_000, 50_000])); break
      case 'cache away': for (const each of this.servers) each.downUntil = Math.max(each.downUntil, world.now + random.pick([1000, 10_000, 50_000])); break
      case 'server gone':
        server.clear()
        server.downUntil = Infinity
        break
      case 'database away': this.database.goAway(random.pick([500, 5000, 40_000])); break
      case 'collectors away': this.#collectorsAwayUntil = Math.max(this.#collectorsAwayUntil, world.now + random.pick([30_000, 120_000])); break
      case 'foreign bytes': {
        for (let column = 0; column < this.scenario.width; column++) {
          const key = `wide-cache:${GRID}:cell:${this.layer + random.between(0, 1)}:${column}`
          const its = serverOf(key, this.servers)
          if (!its.append(key, FOREIGN)) its.store(key, FOREIGN, this.scenario.cellTtlSeconds)
        }
        break
      }
    }
  }

  /** All is well again, for long enough that whoever lives can bring everything to SQL. */
  async #heal(): Promise<void> {
    const { world, scenario, truth } = this
    world.note('healing')
    truth.faulty = false
    this.database.awayUntil = Math.min(this.database.awayUntil, world.now)
    for (const server of this.servers) if (server.downUntil !== Infinity) server.downUntil = Math.min(server.downUntil, world.now)
    this.#collectorsAwayUntil = 0
    this.#startCollector()
    for (const actor of this.actors) {
      if (actor.writes && world.random.chance(0.5)) world.after(world.random.between(0, 20_000), () => actor.process.deliver(() => this.append(actor, 2)))
    }
    // Late requests, stalls, a silent server's minute, then the writers' own patience and their backoff.
    const delays = scenario.late > 0 || scenario.duplicated > 0 ? 30_000 : 0
    const silence = this.servers.some((server) => !server.up) ? 60_000 : 0
    await world.pass(delays + (scenario.disasters > 0 ? STALL_MS : 0) + silence + scenario.confirmSeconds * 1000 + 45_000)
  }

  /** Hands `look` what a process's `ledger()` says, at the very moment it says it. */
  async report(actor: Actor, look: (report: LedgerReport) => void): Promise<void> {
    let looked = false
    void actor.wideCache.ledger().then((report) => {
      looked = true
      look(report)
    }, (error: unknown) => this.world.fail(`ledger() throws ${String(error)}`))
    await this.world.pass(1000)
    assert(looked, 'the ledger answers within a second')
  }

  /** The present layer by the database's clock. */
  get layer(): number {
    return Math.floor((EPOCH + this.world.now) / (this.scenario.layerSeconds * 1000))
  }

  /** Looks at every cell that is left. */
  checkCells(): void {
    for (const server of this.servers) {
      if (!server.up) continue
      for (const key of [...server.items.keys()]) {
        const value = isCell(key) && layerOf(key) <= this.layer ? server.get(key) : undefined
        if (value) this.truth.left(key, value)
      }
    }
  }
}

const AILMENTS: readonly Ailment[] = ['too large', 'not encodable', 'refused by SQL', 'refused by commit', 'not decodable']
const FOREIGN = Buffer.from('WCF\x01 is how a frame begins, but this is none, however long it may go on and on and on')
const SILENT = { info() {}, warn() {}, error() {} }
