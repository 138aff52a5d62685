import assert from 'node:assert/strict'
import { marksIn } from '../../src/connections/mark-list.js'
import { timeZoneOption } from '../../src/support/time-zone.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import { Actor, BIG_FRAME_BYTES, BIG_ROW_BYTES } from './actor.js'
import { close } from './close.js'
import { broughtWithinMs, mustBeInTime } from './complete.js'
import { ScheduledDrains } from './scheduled-drains.js'
import { disaster, MAX_SKEW_MS, STALL_MS } from './disasters.js'
import { goBack, snapshotsOf } from './going-back.js'
import { HoldUps } from './hold-ups.js'
import type { Protocol } from './protocol.js'
import { WideCacheProcess } from './process.js'
import { type Ailment, Records, ROW_ID_BYTES } from './records.js'
import { flushMsOf, type Scenario } from './scenario.js'
import { gridsOf, hasMark, isCell, marksKeyOf } from './schema.js'
import { Site } from './site.js'
import type { Random } from '../simulated-world/random.js'
import { SimulatedCacheServer, serverOf } from '../simulated-world/simulated-cache-server.js'
import { EPOCH, type World } from '../simulated-world/world.js'

/** Rows recorded, and figures read, when nothing goes wrong any more. */
const CALM_ROWS = 15
const CALM_READS = 30

/** Time in which a process that starts gets slow answers, and the rows that it records. */
const JOINS_WITHIN_MS = 20_000
const JOINING_ROWS = 12

/** Time in which a starved process records, with SQL out of reach, and its rows. */
const STARVED_MS = 60_000
const STARVED_ROWS = 60

/** Time in which all comes to a database that takes writes again. */
const AFTER_NO_WRITES_MS = 120_000
const READ_AGAIN_MS = 40_000

/** Time in which rows are recorded, and cells lost. */
const LOSS_WITHIN_MS = 15_000

/** Time for which a mark that SQL does not know is looked up. */
const LOOK_UP_MS = 6_000

const AILMENTS: readonly Ailment[] = [
  'too large',
  'not encodable',
  'refused by SQL',
  'refused by commit',
  'not decodable',
]

/**
 * One run: its databases, caches and processes, and all that happens until the world is well again.
 */
export class Run {
  readonly protocol: Protocol
  readonly world: World
  readonly scenario: Scenario
  readonly records: Records
  /** The databases; the second may be a later clone of the first. */
  readonly sites: Site[]
  /** The cache servers of each machine. */
  readonly machines: SimulatedCacheServer[][]
  readonly actors: Actor[] = []
  collectorsAwayUntil = 0
  readonly #holdUps: HoldUps
  #pausedUntil = 0

  constructor(protocol: Protocol, world: World, scenario: Scenario) {
    this.protocol = protocol
    this.world = world
    this.scenario = scenario
    this.records = new Records(world)
    this.#holdUps = new HoldUps(this)
    this.sites = (scenario.otherSite === 'none' ? ['A'] : ['A', 'B']).map(
      (name) => new Site(name, world, scenario, this.records),
    )
    this.machines = (scenario.cachePerMachine ? ['cache', 'other'] : ['cache']).map((machine) =>
      Array.from(
        { length: scenario.servers },
        (_, i) =>
          new SimulatedCacheServer(`${machine}${i}`, world, scenario, (key, added) => {
            if (isCell(key)) this.records.stored(key, added)
          }),
      ),
    )
  }

  get servers(): SimulatedCacheServer[] {
    return this.machines.flat()
  }

  async play(): Promise<void> {
    const { world, scenario, sites } = this
    const { random } = world
    const [first, second] = sites
    this.#populate(first!)
    if (second && scenario.otherSite === 'stranger') this.#populate(second)
    if (second && scenario.otherSite === 'clone') {
      world.after(random.between(5000, scenario.faultsMs / 2), () => this.#clone(first!, second))
    }
    if (scenario.databaseStepMs !== 0) {
      world.after(random.between(1000, scenario.faultsMs / 2), () =>
        this.#stepOfDatabaseClock(random.pick(this.sites)),
      )
    }
    if (scenario.commitsImplicitly) {
      world.after(random.between(0, scenario.faultsMs), () => {
        random.pick(this.actors).commitsImplicitly = true
      })
    }
    for (let i = 0; i < scenario.disasters; i++) {
      world.after(random.between(0, scenario.faultsMs), () => disaster(this))
    }
    this.#holdUps.begin()
    goBack(this)
    if (scenario.pauseMs > 0) {
      await world.pass(scenario.faultsMs / 2)
      await this.#pause()
    } else {
      await world.pass(scenario.faultsMs)
    }
    await this.#heal()
  }

  #populate(site: Site): void {
    for (let i = 0; i < this.scenario.writers; i++) this.#startWriter(site)
    for (let i = 0; i < this.scenario.collectors; i++) this.startCollector(site)
  }

  #clone(cloned: Site, copy: Site): void {
    this.world.note('the database is cloned')
    copy.copyFrom(cloned)
    this.world.after(this.world.random.pick([0, 5_000, 15_000]), () => {
      this.records.clonesMustPart = this.#showsNewMark(cloned, copy)
      this.world.note(`the clone begins${this.records.clonesMustPart ? ', and must part' : ''}`)
      this.#populate(copy)
    })
  }

  /** Whether the cache shows a mark of a database that its clone never had. */
  #showsNewMark(cloned: Site, copy: Site): boolean {
    const { itemLimit, serverBytes, differentLists } = this.scenario
    if (itemLimit < 2200 || serverBytes < Infinity || differentLists) return false
    if (this.machines.length > 1) return false
    const key = marksKeyOf(cloned.database.look)
    const server = serverOf(key, this.servers)
    const marks = marksIn(server.up ? server.get(key) : undefined)
    return marks.some((mark) => !hasMark(copy.database.look, mark))
  }

  #stepOfDatabaseClock(site: Site): void {
    const {
      world,
      scenario: { confirmSeconds, cellTtlSeconds, databaseStepMs, databaseStepForMs },
    } = this
    if (databaseStepMs <= cellTtlSeconds * 1000 || world.random.chance(0.3)) {
      return this.#stepDatabaseClock(site)
    }
    // Before it all outboxes let go of frames that are in cells only, and ledgers see it; then all
    // seem old enough to be lost.
    const leadMs = confirmSeconds * 1000 + 8000
    this.keepCollectorsAway(leadMs + databaseStepForMs + 2000)
    for (const actor of this.actors) {
      if (actor.writes) {
        for (const ms of [10, 1000, 4000, 12_000, 20_000]) {
          world.after(ms, () => actor.process.deliver(() => this.append(actor, 30)))
        }
      }
    }
    world.after(leadMs, () => {
      if (world.faulty) this.#stepDatabaseClock(site)
    })
  }

  #stepDatabaseClock({ database: { clock } }: Site): void {
    const {
      world,
      scenario: { databaseStepMs, databaseStepForMs },
    } = this
    clock.set(databaseStepMs)
    world.after(databaseStepForMs, () => clock.set(0))
    // Nobody may look before the present is past the watermark.
    if (world.random.chance(0.2)) {
      world.after(databaseStepForMs, () => {
        if (world.faulty) this.keepCollectorsAway(databaseStepMs)
      })
    }
    // What they leave in cells must be found, though the watermark may lie ahead of it.
    for (let kills = 0; kills < 4; kills++) {
      world.after(databaseStepForMs + world.random.between(0, 40_000), () => this.#writeAndDie())
    }
  }

  /** A writer is killed when it has just placed a frame. */
  #writeAndDie(): void {
    const { world, actors } = this
    const writers = actors.filter(
      (actor) => actor.writes && actor.process.alive && !actor.process.closing,
    )
    if (!world.faulty || writers.length === 0) return
    const writer = world.random.pick(writers)
    this.append(writer, 2)
    world.after(flushMsOf(this.scenario, writer.process.geometry) + 50, () => {
      if (writer.process.alive) this.replace(writer)
    })
  }

  /**
   * A long time in which nothing is collected: the writers are quiet, or hold frames that neither
   * cache nor SQL takes.
   */
  async #pause(): Promise<void> {
    const { world, scenario } = this
    const end = world.now + scenario.pauseMs
    this.#pausedUntil = end
    this.collectorsAwayUntil = end
    const writers = this.actors.filter((actor) => actor.writes && actor.process.alive)
    if (scenario.holdsThroughPause) {
      const away = scenario.pauseMs + world.random.pick([2000, 20_000])
      for (const { database } of this.sites) database.goAway(away)
      if (world.random.chance(0.5)) {
        for (const server of this.servers) {
          server.downUntil = Math.max(server.downUntil, world.now + away)
        }
      }
      for (const actor of writers) {
        this.append(actor, 3)
        // Suspended, as the machine of a laptop is: a process that goes on trying for a day would
        // take the simulation long.
        world.after(flushMsOf(scenario, actor.process.geometry) + 1, () => {
          actor.process.stalledUntil = end
        })
        world.after(scenario.pauseMs + 1, () => this.append(actor, 2))
      }
      for (const actor of this.actors) if (!actor.writes) actor.process.stalledUntil = end
    }
    for (const actor of this.actors) if (actor.scheduled) actor.process.stalledUntil = end
    await world.pass(scenario.pauseMs)
    for (const actor of writers) this.#scheduleRows(actor, scenario.faultsMs / 2)
    await world.pass(scenario.faultsMs / 2)
  }

  /** A process that writes and, perhaps, collects. */
  #startWriter(site: Site): void {
    const collects = this.#mayCollect(this.actors.length) && this.world.random.chance(0.2)
    const actor = this.start(site, true, collects)
    const { faultsMs, pauseMs } = this.scenario
    const until = pauseMs > 0 && this.world.now < faultsMs / 2 ? faultsMs / 2 : faultsMs + pauseMs
    this.#scheduleRows(actor, Math.max(1000, until - this.world.now))
  }

  startCollector(site: Site, collects: true | 'scheduled' = true): Actor {
    // Of machines with own caches only the first collects: so it is clear whose frames nobody
    // would find.
    if (!this.#mayCollect(this.actors.length)) this.start(site, false, false)
    return this.start(site, false, collects)
  }

  #mayCollect(index: number): boolean {
    return index % this.machines.length === 0
  }

  /** Ends a process at once and starts another in its place. */
  replace(actor: Actor): void {
    actor.process.kill('is killed')
    if (actor.writes) this.#startWriter(actor.process.site)
    else this.startCollector(actor.process.site)
  }

  start(site: Site, writes: boolean, collects: boolean | 'scheduled'): Actor {
    const { world, scenario, actors } = this
    const { random } = world
    const index = actors.length + 1
    const skew = scenario.clocksWrong ? random.between(-MAX_SKEW_MS, MAX_SKEW_MS) : 0
    const machine = this.machines[actors.length % this.machines.length]!
    const servers =
      scenario.differentLists && index === 1 && machine.length > 1 ? machine.slice(0, -1) : machine
    const geometry = scenario.geometries[actors.length % scenario.geometries.length]!
    const measure = index % scenario.measures
    const named = scenario.zones[index % scenario.zones.length]
    const zone = named === undefined ? undefined : timeZoneOption(named, EPOCH)
    const own = { site, servers, geometry, measure, zone, skew }
    const process = new WideCacheProcess(world, index, own)
    process.collects = collects !== false
    this.records.processes.push(process)
    const scheduled = collects === 'scheduled' || (collects && random.chance(0.3))
    const line = scenario.onDefaultSchedule
      ? undefined
      : `*/${scenario.collectEveryMs / 1000} * * * * *`
    const actor = new Actor(process, writes, scheduled && line, this)
    actors.push(actor)
    if (scheduled || scenario.holdsThroughPause) process.stalledUntil = this.#pausedUntil
    world.note(`${process.name} starts on ${site.name}`)
    if (collects && !scheduled) new ScheduledDrains(this, actor).soon()
    return actor
  }

  /** Bursts of rows spread over some time. */
  #scheduleRows(actor: Actor, ms: number): void {
    const { world } = this
    const { random } = world
    const later = (run: () => void) =>
      world.after(random.between(0, ms), () => actor.process.deliver(run))
    const bursts = random.between(1, this.scenario.bigRows ? 12 : 15)
    for (let i = 0; i < bursts; i++) later(() => this.append(actor, random.pick([1, 1, 2, 5, 30])))
    if (random.chance(0.2)) later(() => void this.#flush(actor))
    if (random.chance(0.2)) later(() => void close(this, actor))
  }

  append(actor: Actor, rows: number): void {
    if (!actor.process.closing) this.appendTo(actor, rows)
  }

  appendTo(actor: Actor, rows: number): void {
    const { world, scenario, records } = this
    if (!actor.process.alive) return
    world.note(`${actor.name} appends ${rows}`)
    for (let i = 0; i < rows; i++) {
      const ailment: Ailment =
        scenario.poison && world.random.chance(scenario.bigRows ? 0.06 : 0.02)
          ? world.random.pick(AILMENTS)
          : 'none'
      const size =
        ailment === 'too large'
          ? BIG_FRAME_BYTES
          : scenario.bigRows
            ? BIG_ROW_BYTES
            : world.random.between(ROW_ID_BYTES, 90)
      try {
        actor.wideCache.append({ truth: records.row(actor.process, ailment), size })
      } catch (error) {
        world.fail(`append() throws ${String(error)}`)
      }
    }
  }

  /**
   * Flushes, and checks that all is in the cache or in SQL, or that flush() says that it is not.
   */
  async #flush({ process, wideCache }: Actor): Promise<void> {
    const before = this.records.rows.length
    try {
      await wideCache.flush()
    } catch {
      return
    }
    for (const frame of process.frames) {
      if (frame.rows[0]!.id >= before) continue
      this.world.check(
        frame.storedAt.size > 0 || process.site.truth.settled(frame),
        () => `flush() has resolved though frame ${frame.key} is nowhere`,
      )
    }
  }

  keepCollectorsAway(ms: number): void {
    this.collectorsAwayUntil = Math.max(this.collectorsAwayUntil, this.world.now + ms)
  }

  /** All is well again, for long enough that whatever lives can bring everything to SQL. */
  async #heal(): Promise<void> {
    const { world, scenario } = this
    world.note('healing')
    world.faulty = false
    for (const { database } of this.sites) {
      database.awayUntil = Math.min(database.awayUntil, world.now)
      database.clock.set(0)
    }
    for (const server of this.servers) {
      if (server.downUntil !== Infinity) server.downUntil = Math.min(server.downUntil, world.now)
    }
    this.collectorsAwayUntil = 0
    for (const site of this.sites) this.startCollector(site, 'scheduled')
    for (const actor of this.actors) {
      if (actor.writes && world.random.chance(0.5)) {
        world.after(world.random.between(0, 20_000), () =>
          actor.process.deliver(() => this.append(actor, 2)),
        )
      }
    }
    this.#readWhenCalm()
    // Delayed requests, stalls, a silent server's minute, then the writers' own patience and their
    // backoff.
    const delays = scenario.delayed > 0 || scenario.duplicated > 0 ? 30_000 : 0
    const silence = this.servers.some((server) => !server.up) ? 60_000 : 0
    const orphans = scenario.orphaned > 0 ? 15_000 : 0
    await world.pass(
      delays + STALL_MS + silence + orphans + scenario.confirmSeconds * 1000 + 45_000,
    )
    if (scenario.noWritesMs > 0) await this.#takeNoWrites()
    if (scenario.losesCells) await this.#loseCells()
    if (scenario.starves) await this.#closeStarved()
  }

  /** Once what lasts is over, rows are recorded and figures read. */
  #readWhenCalm(): void {
    const { world, scenario, records } = this
    const calmIn = (scenario.delayed > 0 || scenario.duplicated > 0 ? 30_000 : 0) + STALL_MS
    records.calmSince = world.now + calmIn
    this.#holdUps.whenCalm(calmIn)
    const later = (ms: number, run: (actor: Actor) => void) => this.#later(calmIn, ms, run)
    for (let i = 0; i < CALM_ROWS; i++) later(15_000, (actor) => this.append(actor, 1))
    for (let i = 0; i < CALM_READS; i++) {
      later(40_000, (actor) => this.#read(actor))
    }
    if (scenario.joins) world.after(calmIn + 3_000, () => this.#join())
  }

  /**
   * A process starts and records at once. For its first answers it waits so long that others have
   * drained the layers of its first rows by then.
   */
  #join(): void {
    const { world, sites, scenario } = this
    const actor = this.start(world.random.pick(sites), true, false)
    const until = world.now + JOINS_WITHIN_MS
    // SQL hears of it before its first layer is drained.
    const ageMs = scenario.drainAfterLayers * actor.process.geometry.layerSeconds * 1000
    const ms = Math.min(600, ageMs / 10)
    actor.process.holdUp({ operation: '', after: 0, times: Infinity, until, ms, stalls: false })
    for (let i = 0; i < JOINING_ROWS; i++) {
      world.after(world.random.between(1, JOINS_WITHIN_MS), () =>
        actor.process.deliver(() => this.append(actor, 1)),
      )
    }
  }

  /**
   * A process to which each answer comes late, and which stands still until then, begins while SQL
   * is out of reach, and has little time when it is back.
   */
  async #closeStarved(): Promise<void> {
    const { world, scenario } = this
    const { random } = world
    const site = random.pick(this.sites)
    site.database.goAway(STARVED_MS)
    const actor = this.start(site, true, false)
    const ms = random.pick([150, 300, 500])
    actor.process.isStarved = true
    actor.process.holdUp({
      operation: '',
      after: 0,
      times: Infinity,
      until: Infinity,
      ms,
      stalls: true,
    })
    for (let i = 0; i < STARVED_ROWS; i++) {
      world.after(random.between(1, 0.9 * STARVED_MS), () =>
        actor.process.deliver(() => this.append(actor, random.between(1, 30))),
      )
    }
    await world.pass(STARVED_MS + 12_000)
    void close(this, actor)
    await world.pass(2 * scenario.closeTimeoutMs + STALL_MS + STARVED_MS)
  }

  /** The databases take no writes for longer than a writer waits; some can be read. */
  async #takeNoWrites(): Promise<void> {
    const { world, scenario } = this
    const { random } = world
    const { noWritesMs, locksRows } = scenario
    for (const { database } of this.sites) {
      const until = world.now + noWritesMs
      if (locksRows) database.rowsLockedUntil = until
      else if (random.chance(0.5)) database.readOnlyUntil = until
      else database.goAway(noWritesMs)
    }
    const later = (ms: number, run: (actor: Actor) => void) => this.#later(0, ms, run)
    for (let i = 0; i < CALM_ROWS; i++) later(noWritesMs, (actor) => this.append(actor, 1))
    for (let i = 0; i < CALM_READS; i++) later(noWritesMs, (actor) => this.#read(actor))
    // Before a collector comes, its writers bring what has waited, each in its own time.
    if (random.chance(0.5)) this.keepCollectorsAway(noWritesMs + READ_AGAIN_MS)
    await world.pass(noWritesMs)
    for (let i = 0; i < CALM_READS; i++) later(READ_AGAIN_MS, (actor) => this.#read(actor))
    await world.pass(AFTER_NO_WRITES_MS)
  }

  /**
   * The cache loses what it holds, or goes back to an earlier state, and all that was recorded is
   * soon in SQL all the same.
   */
  async #loseCells(): Promise<void> {
    const { world, scenario, records } = this
    const { random } = world
    const since = world.now
    for (let i = 0; i < CALM_ROWS; i++) {
      this.#later(0, LOSS_WITHIN_MS, (actor) => this.append(actor, 1))
    }
    for (let i = 0; i < CALM_READS; i++) {
      this.#later(0, 3 * LOSS_WITHIN_MS, (actor) => this.#read(actor))
    }
    const restore = snapshotsOf(this.servers)
    await world.pass(random.between(0, LOSS_WITHIN_MS))
    world.note('the cache loses cells')
    records.lostCellsAt = world.now
    const chance = random.pick([1, 1, 0.5])
    const how = random.fork()
    if (scenario.goesBack > 0 && how.chance(0.5)) restore(how.chance(0.5))
    else if (chance === 1) await this.#loseMemory(how)
    else {
      for (const server of this.servers) {
        for (const key of server.items.keys()) {
          if (isCell(key) && random.chance(chance)) server.remove(key)
        }
      }
    }
    await world.pass(LOSS_WITHIN_MS + broughtWithinMs(scenario))
    for (const frame of records.frames.values()) {
      if (frame.closedAt < since || !mustBeInTime(records, scenario, frame)) continue
      world.check(
        frame.process.site.truth.settled(frame),
        () => `frame ${frame.key}, which the cache has lost, waits for long`,
      )
    }
  }

  /** Servers of the cache lose all that they hold, all or one of them, once or again and again. */
  async #loseMemory(random: Random): Promise<void> {
    const { world, records, servers } = this
    records.lostMemory = true
    for (let times = random.pick([1, 1, 4]); times > 0; times--) {
      const lost = random.chance(0.5) ? servers : [random.pick(servers)]
      for (const server of lost) server.clear()
      records.lostCellsAt = world.now
      for (let at = 0; at < LOSS_WITHIN_MS; at += 500) {
        this.#later(at, 500, (actor) => this.#read(actor))
      }
      if (times > 1) await world.pass(random.between(1_500, 4_500))
    }
  }

  /** Lets some process that writes do something, `fromMs` from now and up to `ms` later. */
  #later(fromMs: number, ms: number, run: (actor: Actor) => void): void {
    const { world, actors } = this
    world.after(fromMs + world.random.between(0, ms), () => {
      const actor = world.random.pick(actors)
      if (actor.writes) actor.process.deliver(() => run(actor))
    })
  }

  #read({ process, wideCache }: Actor): void {
    if (!process.closing) void wideCache.read().catch(() => undefined)
  }

  /** Hands `look` what a process's `ledger()` returns, at the very moment it does. */
  async report(actor: Actor, look: (report: LedgerReport) => void): Promise<void> {
    let looked = false
    void actor.report().then(
      (report) => {
        looked = true
        look(report)
      },
      (error: unknown) => this.world.fail(`ledger() throws ${String(error)}`),
    )
    await this.world.pass(1000)
    // A new process looks an unknown mark up for some seconds.
    if (!looked && this.scenario.cachePerMachine) await this.world.pass(LOOK_UP_MS)
    assert(looked, 'the ledger answers within a second')
  }

  /** The layer of a moment of the world. */
  layerAt(ms: number, layerSeconds: number): number {
    return Math.floor((EPOCH + ms) / (layerSeconds * 1000))
  }

  /** Looks at every cell that is left. */
  checkCells(): void {
    for (const { truth, database } of this.sites) {
      const grids = gridsOf(database.look)
      for (const server of this.servers) {
        if (!server.up) continue
        for (const key of server.items.keys()) {
          const value = isCell(key) ? server.get(key) : undefined
          if (value) truth.left(key, value, grids)
        }
      }
    }
  }
}
