/**
 * One run of the chaos: start a world, do the plan's faults to it, let it heal, and check what is
 * there in the end.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { copySchema } from '../servers/copied-schema.js'
import { memcached } from '../../src/index.js'
import { marksIn } from '../../src/connections/mark-list.js'
import { marksKey } from '../../src/connections/namespace.js'
import { namespaceOf, ownMarks } from '../../src/database/identity.js'
import { SILENT } from '../../src/support/logger.js'
import type { WriterLife } from './account.js'
import { type Check, checksOf, type CopiedRows, exactly } from './checks.js'
import { type Disturbance, Disturbances } from './disturbances.js'
import { dueRows } from './due.js'
import { inject, MARIADB, targetsOf } from './faults.js'
import { findOut } from './found.js'
import { Looks } from './looks.js'
import { type Fault, TYPES, planOf } from './plan.js'
import { answered, drained } from './drained.js'
import { type Life, livesOf, type Slot } from './slot.js'
import { readTruth } from './truth.js'
import { COPIED, COPY, gridNameOf, openUses, PARTS, seenNameOf, type Uses } from './uses.js'
import { hostOf, type Site, startWorld, type World } from './world.js'

/** Between two looks at whether the copied site is at work. */
const LOOK_MS = 200
/** The copy has seen a mark of the site by then, or shows its own, however busy the machine is. */
const PARTED_WITHIN_MS = 300_000

export interface ChaosOptions {
  readonly seed: number
  /** Seconds during which faults happen. */
  readonly seconds: number
  /** Each site has names of its own, and all processes have one geometry. */
  readonly apart?: boolean
  /** Told of each fault. */
  readonly say?: (line: string) => void
}

export interface ChaosReport {
  readonly checks: readonly Check[]
  /** Faults done, by type, and rows and lives, by what became of them. */
  readonly figures: Readonly<Record<string, number>>
}

export async function runChaos({
  seed,
  seconds,
  apart = false,
  say: print = () => undefined,
}: ChaosOptions): Promise<ChaosReport> {
  const began = performance.now()
  const say = (line: string): void =>
    print(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}`)
  const world = await startWorld({ apart, seed })
  try {
    const originals = world.sites.filter(({ name }) => name !== COPY)
    await Promise.all(
      originals.map((site) =>
        withReader(world, site, false, (uses) =>
          Promise.all(PARTS.map((part) => uses[part].migrate())),
        ),
      ),
    )
    for (const { slots } of originals) for (const slot of slots) slot.start()
    const copied = await copyDatabase(world)
    const plan = planOf(seed, seconds, targetsOf(world))
    const [looks, disturbances] = await withLooks(world, () => disturb(world, plan, say))
    say('The faults are over: writers close, then collectors')
    await endAll(world.slots.filter(({ options }) => options.records))
    await endAll(world.slots)
    say('All processes have ended: the rest is drained')
    const sites = await Promise.all(
      world.sites.map((site) =>
        checkSite(world, site, {
          looks: looks.get(site)!,
          disturbances,
          copied: site.name === COPY ? copied : undefined,
        }),
      ),
    )
    return {
      checks: [...checkLives(livesOf(world.slots)), ...sites.flatMap(({ checks }) => checks)],
      figures: { ...faultsByKind(plan), ...added(sites.map(({ figures }) => figures)) },
    }
  } finally {
    await world.stop()
  }
}

/** Copies a database while its site is at work, and starts the site of the copy. */
async function copyDatabase({ sites, apart }: World): Promise<CopiedRows> {
  const [from, to] = [COPIED, COPY].map((name) => sites.find((site) => site.name === name)!)
  const one = async ({ database }: Site, figure: string): Promise<number> =>
    Number((await database.query(`SELECT ${figure} AS n`)).rows[0]?.['n'])
  const count = (site: Site, table: string) => one(site, `(SELECT COUNT(*) FROM ${table})`)
  while ((await count(from!, 'recorded')) === 0) await delay(LOOK_MS)
  await copySchema(from!.url, to!.url)
  const names = { site: COPY, apart }
  const visits = (name: string) =>
    one(to!, `(SELECT COUNT(*) FROM activities WHERE name = '${name}')`)
  const copied = {
    recorded: await count(to!, 'recorded'),
    activity: await visits(gridNameOf('activity', names)),
    seen: await visits(seenNameOf(names)),
    at: Date.now(),
  }
  await hasForeignMark(from!, to!)
  for (const slot of to!.slots) slot.start()
  // A cache that loses its marks meanwhile would not show the copy that it is one.
  const namespace = async ({ database }: Site): Promise<string> => {
    const { rows } = await database.query('SELECT HEX(namespace) AS hex FROM wide_cache_identity')
    return String(rows[0]?.['hex'])
  }
  const deadline = performance.now() + PARTED_WITHIN_MS
  while ((await namespace(from!)) === (await namespace(to!))) {
    if (performance.now() > deadline) throw new Error('the copy goes on using the keys of the site')
    await delay(LOOK_MS)
  }
  return copied
}

/**
 * Waits until the cache shows a mark that the copy never had. The next one comes 10 s after the
 * last one: to SQL first, and to a cache that fails then not at all.
 */
async function hasForeignMark(from: Site, to: Site): Promise<void> {
  const cache = memcached(from.cache)
  try {
    const key = marksKey(await namespaceOf(to.database))
    const deadline = performance.now() + PARTED_WITHIN_MS
    for (;;) {
      // A busy machine may not answer in time.
      const list = marksIn(await cache.get(key).catch(() => undefined))
      const { own } = await ownMarks(to.database, list)
      if (list.some((mark) => !own.has(mark))) return
      if (performance.now() > deadline) throw new Error('the cache shows no mark of the site')
      await delay(LOOK_MS)
    }
  } finally {
    await cache.close()
  }
}

/** Looks at each site while `work` goes on. */
async function withLooks<T>(world: World, work: () => Promise<T>): Promise<[Map<Site, Looks>, T]> {
  const looks = new Map<Site, Looks>()
  const ended: Promise<void>[] = []
  let result: Promise<T> | undefined
  for (const site of world.sites) {
    ended.push(
      withReader(world, site, false, async (uses) => {
        const its = new Looks(site.database, uses, { site: site.name, apart: world.apart })
        looks.set(site, its)
        result ??= work()
        await result.then(() => its.untilFresh()).finally(() => its.stop())
      }),
    )
  }
  await Promise.all(ended)
  return [looks, await result!]
}

/** Does the plan, heals the world, and says when what was disturbed. */
async function disturb(
  world: World,
  plan: readonly Fault[],
  say: (line: string) => void,
): Promise<Disturbances> {
  const began = Date.now()
  const disturbances: Disturbance[] = []
  const underWay: Promise<void>[] = []
  const doIt = async (fault: Fault): Promise<void> => {
    const from = Date.now()
    say(
      `${fault.type}: ${fault.target}` +
        (fault.size ? `, ${fault.size}` : '') +
        (fault.ms ? `, for ${(fault.ms / 1000).toFixed(1)} s` : ''),
    )
    try {
      await inject(world, fault)
    } catch (error) {
      // Another fault may have taken away what this one needs: a connection to a server that is
      // down.
      say(
        `not done: ${fault.type}: ${fault.target}: ` +
          `${error instanceof Error ? error.message : String(error)}`,
      )
    }
    const { type, target } = fault
    disturbances.push({ type, disturbs: TYPES[type].disturbs, target, from, to: Date.now() })
  }
  for (const fault of plan) {
    await delay(Math.max(0, began + fault.at - Date.now()))
    underWay.push(doIt(fault))
  }
  const last = Math.max(...plan.map(({ at, ms }) => at + ms))
  await delay(Math.max(0, began + last - Date.now()))
  // Before all is awaited: what closes in order waits for SQL.
  for (const route of world.routes.values()) route.heal()
  say('The world heals')
  await Promise.all(underWay)
  return new Disturbances(disturbances)
}

async function endAll(slots: readonly Slot[]): Promise<void> {
  await Promise.all(slots.map((slot) => slot.end()))
}

function checkLives(lives: readonly Life[]): Check[] {
  const failed = lives.filter(({ failure }) => failure !== undefined)
  const which = failed.map(({ name, failure, log }) => `${name} ${failure}, see ${log}`).join('; ')
  return [exactly(`processes that failed${which && ` (${which})`}`, 0, failed.length)]
}

interface SiteReport {
  readonly checks: readonly Check[]
  readonly figures: Readonly<Record<string, number>>
}

/** What a site is checked by. */
interface Seen {
  readonly looks: Looks
  readonly disturbances: Disturbances
  /** Of a copy: the rows that it began with. */
  readonly copied: CopiedRows | undefined
}

async function checkSite(world: World, site: Site, seen: Seen): Promise<SiteReport> {
  try {
    return await readSite(world, site, seen)
  } catch (error) {
    // The other sites' checks are of use all the same.
    return {
      checks: [
        exactly(
          `${site.name}: errors while it is read, all healed: ` +
            `${error instanceof Error ? error.message : String(error)}`,
          0,
          1,
        ),
      ],
      figures: {},
    }
  }
}

async function readSite(
  world: World,
  site: Site,
  { looks, disturbances, copied }: Seen,
): Promise<SiteReport> {
  const figuresPassedAt = (moment: number): number => looks.passedAt(moment)
  const lives = site.slots
    .filter(({ options }) => options.records)
    .flatMap((slot) =>
      slot.lives.map((life) => writerLife(life, { ...placeOf(slot), figuresPassedAt })),
    )
  return withReader(world, site, 1, async (uses) => {
    const names = { site: site.name, apart: world.apart }
    await drained(site.database, uses, names)
    const found = await findOut(site.database, uses, names)
    // One that was killed before it began has recorded nothing.
    const killed = lives.filter(({ exact, times }) => !exact && times.length > 0)
    const heldBack = lives.filter(({ exact, closed }) => !exact && closed)
    const which = heldBack.map(({ name, closed }) => `: ${name} ${JSON.stringify(closed)}`).join('')
    return {
      checks: [
        exactly(
          `${site.name} writers that closed without bringing all to SQL${which}`,
          0,
          heldBack.length,
        ),
        ...checksOf(site.name, lives, found, disturbances, copied),
        ...looks
          .checks(lives, disturbances, copied)
          .map((check) => ({ ...check, name: `${site.name} ${check.name}` })),
      ],
      figures: {
        [`looks at ${site.name}`]: looks.figures.looks,
        [`of them at stale figures of ${site.name}`]: looks.figures.stale,
        'writers closed': lives.filter(({ exact }) => exact).length,
        'writers killed': killed.length,
        'rows recorded': sumOf(lives, ({ times }) => times.length),
        'reports answered': sumOf(lives, ({ reports }) => reports.filter(Number.isFinite).length),
        'rows recorded by killed writers': sumOf(killed, ({ times }) => times.length),
        'of them rows that a look must count': dueRows(killed, disturbances).length,
        'of all rows, those that a look must count': dueRows(lives, disturbances).length,
        'rows missing of killed writers': sumOf(
          killed,
          ({ name, times }) =>
            times.filter((_, number) => !found.recorded.has(name, number)).length,
        ),
      },
    }
  })
}

function placeOf({
  options: { name, machine, site, cache },
}: Slot): Pick<WriterLife, 'reliesOn' | 'hasPrivateCache'> {
  return {
    reliesOn: [name, `${MARIADB} from ${machine}`, MARIADB, `database ${site}`, hostOf(site)],
    hasPrivateCache: cache === 'memory:',
  }
}

function writerLife(
  { name, truth: file, failure, killedAt }: Life,
  place: Pick<WriterLife, 'reliesOn' | 'hasPrivateCache' | 'figuresPassedAt'>,
): WriterLife {
  const truth = readTruth(file)
  const exact =
    failure === undefined &&
    truth.closed !== undefined &&
    truth.closed.every(({ inCache, lost }) => inCache + lost === 0)
  return { ...truth, name, exact, killedAt, ...place }
}

/** Opens the three uses in this process, without a route to SQL. */
async function withReader<T>(
  { apart }: World,
  { name, url, cache }: Site,
  collects: 1 | false,
  work: (uses: Uses) => Promise<T>,
): Promise<T> {
  const uses = openUses(
    { site: name, cache, database: url, collects, otherGeometry: false, apart, timeZone: 'UTC' },
    SILENT,
  )
  try {
    return await work(uses)
  } finally {
    await Promise.all(
      PARTS.map((part) => answered<unknown>(`${part}: close()`, uses[part].close())),
    )
  }
}

function faultsByKind(plan: readonly Fault[]): Record<string, number> {
  return added(plan.map(({ type }) => ({ [`fault: ${type}`]: 1 })))
}

function added(records: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) sums[name] = (sums[name] ?? 0) + value
  }
  return sums
}

function sumOf<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0)
}
