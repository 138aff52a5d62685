/** The faults of each type. Each function resolves when its fault is over. */
import { setTimeout as delay } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { memcached as openMemcached } from '../../src/cache/memcached/memcached.js'
import { Random } from '../simulated-world/random.js'
import type { Fault, FaultType, Targets } from './plan.js'
import type { Slot } from './slot.js'
import { type CacheServer, REDIS, type Site, type World } from './world.js'

export const MARIADB = 'MariaDB'
const START_TRIES = 60
const START_RETRY_MS = 1_000
/** Programs of a host notice a step so late. */
const HOST_LOOKS_MS = 2_000
/** Nearly the largest item. */
const FILLER_BYTES = 1_000_000

/** Returns the parts of `world` that the plan may disturb. */
export function targetsOf({ slots, caches, routes, sites, hosts }: World): Targets {
  const names = (some: readonly Slot[]): string[] => some.map(({ options }) => options.name)
  return {
    process: names(slots),
    writer: names(slots.filter(({ options }) => options.records)),
    // A server and the route to it have one name, and so one fault at a time: two would hide each
    // other.
    cache: [...caches.keys()],
    memcached: [...caches.keys()].filter((name) => name !== REDIS),
    mariadb: [MARIADB],
    host: [...hosts.keys()],
    sqlRoute: [...routes.keys()].filter((name) => name.startsWith(MARIADB)),
    database: sites.map(({ name }) => `database ${name}`),
  }
}

/** Does a fault, and heals what it has broken. */
export function inject(world: World, fault: Fault): Promise<void> {
  return DO[fault.type](world, fault)
}

const DO: Record<FaultType, (world: World, fault: Fault) => Promise<void>> = {
  async 'kill process'(world, { target, ms }) {
    await slot(world, target).kill()
    await delay(ms)
    slot(world, target).start()
  },
  async 'end process'(world, { target, ms }) {
    await slot(world, target).end()
    await delay(ms)
    slot(world, target).start()
  },
  async 'refused row'(world, { target }) {
    slot(world, target).order({ poison: true })
  },
  async 'rush of rows'(world, { target, size }) {
    slot(world, target).order({ rows: size })
  },
  async 'flood of rows'(world, { target, ms, size }) {
    slot(world, target).order({ rowsASecond: size, ms })
    await delay(ms)
  },
  async 'stop process'(world, { target, ms }) {
    slot(world, target).signal('SIGSTOP')
    await delay(ms)
    slot(world, target).signal('SIGCONT')
  },
  'step clock': stepClock,
  'step clock by days': stepClock,
  'step a host': stepHost,
  'step a host by days': stepHost,
  async 'kill a cache'({ caches }, { target, ms }) {
    const server = caches.get(target)!
    await server.kill()
    await delay(ms)
    await startAgain(server)
  },
  async 'flush a cache'({ caches }, { target }) {
    await caches.get(target)!.flush()
  },
  async 'evict from memcached'({ caches }, { target, size }) {
    const filler = openMemcached(caches.get(target)!.address)
    try {
      const value = Buffer.alloc(FILLER_BYTES)
      for (let filled = 0; filled < size; filled++) await filler.set(`filler:${filled}`, value, 60)
    } finally {
      await filler.close()
    }
  },
  async 'stop a cache'({ caches }, { target, ms }) {
    const server = caches.get(target)!
    server.pause()
    await delay(ms)
    server.resume()
  },
  'silence the cache': silence,
  'delay the cache': slow,
  'cut the cache': cut,
  async 'kill MariaDB'({ mariadb }, { ms }) {
    await mariadb.kill()
    await delay(ms)
    await mariadb.restart()
  },
  async 'stop MariaDB'({ mariadb }, { ms }) {
    process.kill(mariadb.pid, 'SIGSTOP')
    await delay(ms)
    process.kill(mariadb.pid, 'SIGCONT')
  },
  async 'read-only SQL'({ mariadb }, { ms }) {
    await readOnly(mariadb, true)
    await delay(ms)
    await readOnly(mariadb, false)
  },
  async 'kill connections'({ mariadb }, { size, at }) {
    const connection = await createConnection(mariadb.url())
    try {
      const [rows] = await connection.query(
        'SELECT id FROM information_schema.processlist ' +
          `WHERE id <> CONNECTION_ID() AND command <> 'Daemon'`,
      )
      const ids = (rows as { id: number }[]).map(({ id }) => id)
      const random = new Random(at)
      for (let killed = 0; killed < size && ids.length > 0; killed++) {
        const [id] = ids.splice(random.between(0, ids.length - 1), 1)
        // It may have ended meanwhile.
        await connection.query('KILL ?', [id]).catch(() => undefined)
      }
    } finally {
      connection.destroy()
    }
  },
  async 'lock rows'(world, fault) {
    const site = world.sites.find(({ name }) => fault.target === `database ${name}`)!
    if (site.database.dialect === 'sqlite') await site.database.transaction(() => delay(fault.ms))
    else await lockTable(site, fault)
  },
  'silence SQL': silence,
  'delay SQL': slow,
  'cut SQL': cut,
}

/** A server that is started again takes writes by itself. */
async function readOnly(mariadb: World['mariadb'], on: boolean): Promise<void> {
  const connection = await createConnection(mariadb.url())
  try {
    await connection.query(`SET GLOBAL read_only = ${on ? 1 : 0}`)
  } finally {
    connection.destroy()
  }
}

/** Holds the place behind the last row of a table, where all inserts go. */
async function lockTable({ url }: Site, { ms, at }: Fault): Promise<void> {
  const connection = await createConnection(url)
  // The server may go down meanwhile; then the lock is gone, too.
  connection.on('error', () => undefined)
  try {
    await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await connection.beginTransaction()
    await connection.query(
      at % 2
        ? 'SELECT id FROM recorded WHERE id >= 1000000000000 FOR UPDATE'
        : "SELECT number FROM activities WHERE name >= '~' FOR UPDATE",
    )
    await delay(ms)
  } finally {
    connection.destroy()
  }
}

/** Starts a server on its old port, which a connection of somebody else may hold for a while. */
async function startAgain(server: CacheServer): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await server.start()
    } catch (error) {
      if (tries === START_TRIES) throw error
      await delay(START_RETRY_MS)
    }
  }
}

async function stepClock(world: World, { target, ms, size }: Fault): Promise<void> {
  slot(world, target).order({ stepMs: size })
  await delay(ms)
  slot(world, target).order({ stepMs: 0 })
}

async function stepHost({ hosts }: World, { target, ms, size }: Fault): Promise<void> {
  const host = hosts.get(target)!
  host.step(size)
  await delay(ms)
  host.step(0)
  await delay(HOST_LOOKS_MS)
}

async function silence({ routes }: World, { target, ms }: Fault): Promise<void> {
  routes.get(target)!.silence()
  await delay(ms)
  routes.get(target)!.pass()
}

async function slow({ routes }: World, { target, ms, size }: Fault): Promise<void> {
  routes.get(target)!.delay(size)
  await delay(ms)
  routes.get(target)!.pass()
}

async function cut({ routes }: World, { target, size }: Fault): Promise<void> {
  routes.get(target)!.cut(size)
}

function slot({ slots }: World, target: string): Slot {
  return slots.find(({ options }) => options.name === target)!
}
