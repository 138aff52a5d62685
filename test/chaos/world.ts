/**
 * The world of the chaos: a MariaDB with three databases, one of them a copy of another, whose
 * sites share memcached servers; an SQLite file, whose site has a Redis; the machines of these four
 * sites with their processes, and the network routes between them.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { type Database, mysql, sqlite } from '../../src/index.js'
import { type HostClock, hostClock } from '../servers/host-clock.js'
import { type MariaDb, startMariadb } from '../servers/mariadb.js'
import { type Memcached, startMemcached } from '../servers/memcached.js'
import { temporaryFolder } from '../servers/process.js'
import { startRedis } from '../servers/redis.js'
import { openRoute, type Route } from './route.js'
import { Slot } from './slot.js'
import { COPY } from './uses.js'

const MEMCACHED_SERVERS = 3
export const REDIS = 'Redis'

/** The user of the sites' processes, and his password. */
const USER = 'site'

/**
 * The places for processes, which collect each so many seconds. Sites have the same names of wide
 * caches, and those on MariaDB the same memcached servers.
 */
const SLOTS = [
  { site: 'production', machine: 'a', records: true, collects: 1 },
  { site: 'production', machine: 'b', records: true, collects: false },
  { site: 'production', machine: 'b', records: true, collects: 1, otherGeometry: true },
  { site: 'production', machine: 'a', records: false, collects: 1 },
  { site: 'production', machine: 'c', records: false, collects: 1 },
  { site: 'staging', machine: 'd', records: true, collects: 4 },
  { site: COPY, machine: 'f', records: true, collects: 1 },
  { site: COPY, machine: 'f', records: true, collects: false },
  { site: 'embedded', machine: 'e', records: true, collects: false },
  { site: 'embedded', machine: 'e', records: false, collects: 1 },
  { site: 'embedded', machine: 'e', records: true, collects: 1, privateCache: true },
] as const

/** Zones that processes would have, each another one than its neighbours. */
const ZONES = ['Europe/Berlin', 'Asia/Kolkata', 'America/Santiago', 'Antarctica/Troll']

/** The site on SQLite and Redis: the clock of its machine is its database's. */
const EMBEDDED = 'embedded'

/** The name of the machine whose clock is that of a site's database. */
export function hostOf(site: string): string {
  return site === EMBEDDED ? 'the host of SQLite' : 'the host of MariaDB'
}

/** A site's rows may be twice: no unique key hides it. A negative number is refused. */
const TABLE = {
  mysql:
    'CREATE TABLE recorded (id BIGINT AUTO_INCREMENT PRIMARY KEY, life VARCHAR(40) NOT NULL, ' +
    'number INT NOT NULL CHECK (number >= 0)) ENGINE=InnoDB',
  sqlite:
    'CREATE TABLE recorded (id INTEGER PRIMARY KEY, life TEXT NOT NULL, number INTEGER NOT ' +
    'NULL CHECK (number >= 0))',
}

/** One database and the processes that use it. */
export interface Site {
  readonly name: string
  /** The parent's own way to the database, without a route. */
  readonly database: Database
  readonly url: string
  /** As its processes name their servers, but for those with a private cache. */
  readonly cache: string
  readonly slots: readonly Slot[]
}

/** A server of caches. */
export type CacheServer = Pick<
  Memcached,
  'address' | 'start' | 'kill' | 'flush' | 'pause' | 'resume'
>

export interface World {
  /** By the names that the plan uses: `memcached 1`, `Redis`. Routes to them have the same. */
  readonly caches: ReadonlyMap<string, CacheServer>
  readonly mariadb: MariaDb
  readonly sites: readonly Site[]
  readonly slots: readonly Slot[]
  /** By the names that the plan uses: `memcached 1`, `MariaDB from a`. */
  readonly routes: ReadonlyMap<string, Route>
  /** The clocks of the machines with databases, by the names that the plan uses. */
  readonly hosts: ReadonlyMap<string, HostClock>
  readonly apart: boolean
  stop(): Promise<void>
}

export async function startWorld({
  apart,
  seed,
}: {
  apart: boolean
  seed: number
}): Promise<World> {
  const folder = temporaryFolder('chaos')
  const stops: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const part of stops.splice(0).reverse()) await part()
  }
  try {
    const [ofMariadb, ofEmbedded] = [hostClock(), hostClock()]
    const hosts = new Map([
      [hostOf('production'), ofMariadb],
      [hostOf(EMBEDDED), ofEmbedded],
    ])
    const [mariadb, redis, ...memcached] = await Promise.all([
      started(startMariadb(['--max-connections=500'], { env: ofMariadb.env }), (server) =>
        stops.push(() => server.kill()),
      ),
      started(startRedis(), (server) => stops.push(() => server.stop())),
      ...Array.from({ length: MEMCACHED_SERVERS }, () =>
        started(startMemcached(), (server) => stops.push(() => server.kill())),
      ),
    ])
    const routes = new Map<string, Route>()
    const route = async (name: string, port: number): Promise<Route> => {
      const opened = routes.get(name) ?? (await openRoute(port))
      if (!routes.has(name)) stops.push(() => opened.close())
      routes.set(name, opened)
      return opened
    }
    const addresses: string[] = []
    for (const [index, { port }] of memcached.entries()) {
      addresses.push(`127.0.0.1:${(await route(memcachedName(index), port)).port}`)
    }
    const toRedis = await route(REDIS, Number(new URL(redis.url).port))

    const sites: Site[] = []
    for (const name of new Set(SLOTS.map(({ site }) => site))) {
      const embedded = name === EMBEDDED
      if (!embedded) await createSchema(mariadb, name)
      const file = join(folder, `${name}.db`)
      const url = embedded ? `sqlite:${file}` : mariadb.url(name)
      const cache = embedded
        ? `redis://127.0.0.1:${toRedis.port}`
        : `memcached://${addresses.join(',')}`
      const database = embedded ? sqlite(file) : mysql(url)
      stops.push(() => database.close())
      if (name !== COPY) await database.query(TABLE[embedded ? 'sqlite' : 'mysql'])
      const slots: Slot[] = []
      for (const place of SLOTS.filter(({ site }) => site === name)) {
        const ofHost = embedded
          ? url
          : through((await route(`MariaDB from ${place.machine}`, mariadb.port)).port, url)
        const options = {
          ...place,
          otherGeometry: 'otherGeometry' in place && !apart,
          name: `${name}-${slots.length + 1}`,
          cache: 'privateCache' in place ? 'memory:' : cache,
          database: ofHost,
          env: embedded ? ofEmbedded.env : {},
          apart,
          timeZone: ZONES[(seed + SLOTS.indexOf(place)) % ZONES.length]!,
        }
        const lives = join(folder, options.name)
        mkdirSync(lives)
        slots.push(new Slot(options, lives))
      }
      stops.push(() => Promise.all(slots.map((slot) => slot.kill())))
      sites.push({ name, database, url, cache, slots })
    }
    return {
      caches: new Map<string, CacheServer>([
        ...memcached.map((server, index) => [memcachedName(index), server] as const),
        [REDIS, redis],
      ]),
      mariadb,
      sites,
      slots: sites.flatMap(({ slots }) => slots),
      routes,
      hosts,
      apart,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function memcachedName(index: number): string {
  return `memcached ${index + 1}`
}

/** A database, and a user of it to whom `read_only` applies. */
async function createSchema(mariadb: MariaDb, name: string): Promise<void> {
  await mariadb.createDatabase(name)
  const connection = await createConnection(mariadb.url())
  try {
    await connection.query(`CREATE USER IF NOT EXISTS '${USER}'@'%' IDENTIFIED BY '${USER}'`)
    await connection.query(`GRANT ALL PRIVILEGES ON \`${name}\`.* TO '${USER}'@'%'`)
  } finally {
    connection.destroy()
  }
}

/** The URL of the same database, through a route's port, for a user without special rights. */
function through(port: number, url: string): string {
  const routed = new URL(url)
  routed.username = routed.password = USER
  routed.port = String(port)
  return routed.href
}

async function started<T>(starting: Promise<T>, use: (server: T) => void): Promise<T> {
  const server = await starting
  use(server)
  return server
}
