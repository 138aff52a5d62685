/**
 * The servers that `test/run.ts` has started for all test files. A file that is run alone starts
 * its own.
 */
import { freshDatabase, startMariadb } from './mariadb.js'
import { startMemcached } from './memcached.js'
import { freshPostgresDatabase, MANY_DATABASES, startPostgres } from './postgres.js'
import { startRedis } from './redis.js'

/** `mysql://…` of a server that all files share; set by `test/run.ts`. */
export const MYSQL_VARIABLE = 'WIDE_CACHE_TEST_MYSQL'
/** `host:port` of a memcached that all files share; set by `test/run.ts`. */
export const MEMCACHED_VARIABLE = 'WIDE_CACHE_TEST_MEMCACHED'

let mysqlUrl: Promise<string> | undefined
let memcachedAddress: Promise<string> | undefined

/** `redis://…` of a server that this file shares with itself, as {@link sharedMemcached}. */
let redisUrl: Promise<string> | undefined

export function sharedRedis(): Promise<string> {
  return (redisUrl ??= startRedis().then(({ url }) => url))
}

/** `postgres://…` of a server that all files share; set by `test/run.ts`. */
export const POSTGRES_VARIABLE = 'WIDE_CACHE_TEST_POSTGRES'
let postgresUrl: Promise<string> | undefined

/** The URL of a new empty database of PostgreSQL. */
export async function sharedPostgresUrl(): Promise<string> {
  const given = process.env[POSTGRES_VARIABLE]
  postgresUrl ??= given
    ? Promise.resolve(given)
    : startPostgres(MANY_DATABASES).then((server) => server.url())
  return freshPostgresDatabase(await postgresUrl)
}

/** The URL of a new empty database. */
export async function sharedMysqlUrl(): Promise<string> {
  const given = process.env[MYSQL_VARIABLE]
  mysqlUrl ??= given ? Promise.resolve(given) : startMariadb().then((server) => server.url())
  return freshDatabase(await mysqlUrl)
}

/**
 * `host:port` of a memcached that others use at the same time: keys are to be the test's own, and
 * it is never flushed.
 */
export function sharedMemcached(): Promise<string> {
  const given = process.env[MEMCACHED_VARIABLE]
  memcachedAddress ??= given
    ? Promise.resolve(given)
    : startMemcached().then(({ port }) => `127.0.0.1:${port}`)
  return memcachedAddress
}
