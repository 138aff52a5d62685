/**
 * The places where blocks of the docs run: without any service, and on the memcached, MariaDB and
 * PostgreSQL of the tests.
 */
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { sharedMemcached, sharedMysqlUrl, sharedPostgresUrl } from '../servers/shared.js'

export interface Place {
  /** Environment of a block. */
  readonly env: { readonly [name: string]: string }
  /** Targets of the `host:port`s of the text. */
  readonly routes: { readonly [address: string]: { readonly host: string; readonly port: number } }
  /** Database of the statements that a block continues. */
  readonly databaseUrl: string
  /** Whether a block may leave a file of SQLite. */
  readonly embedded: boolean
}

const MYSQL_URL =
  /\b(?:mysql|mariadb):\/\/(?:([\w.-]+)(?::([\w.-]+))?@)?([\w.-]+)(?::(\d+))?\/(\w+)/g
const POSTGRES_URL =
  /\b(?:postgres|postgresql):\/\/([\w.-]+):([\w.-]+)@([\w.-]+)(?::(\d+))?\/(\w+)/g
const MEMCACHED_ADDRESS = /\b([a-z\d.-]+):(11211)\b/g

/** Whether a text says itself which servers it uses. */
export function namesServers(text: string): boolean {
  return [MYSQL_URL, POSTGRES_URL, MEMCACHED_ADDRESS].some((named) => text.search(named) >= 0)
}

export function embedded(folder: string): Place {
  return { env: {}, routes: {}, databaseUrl: `sqlite:${folder}/wide-cache.db`, embedded: true }
}

/**
 * memcached, and a new database; what the text names is led there. Users and databases that it
 * names are made, empty.
 */
export async function onServers(text: string): Promise<Place> {
  const [memcached, url] = await Promise.all([sharedMemcached(), sharedMysqlUrl()])
  const routes: { [address: string]: { host: string; port: number } } = {}
  for (const [, host, port] of text.matchAll(MEMCACHED_ADDRESS)) {
    routes[`${host}:${port}`] = endOf(`tcp://${memcached}`)
  }
  for (const [, user, password, host, port = '3306', database] of text.matchAll(MYSQL_URL)) {
    routes[`${host}:${port}`] = endOf(url)
    await makeDatabase(url, user ?? 'root', password ?? '', database!)
  }
  for (const [, user, password, host, port = '5432', database] of text.matchAll(POSTGRES_URL)) {
    const fresh = await sharedPostgresUrl()
    routes[`${host}:${port}`] = endOf(fresh)
    await makePostgresDatabase(fresh, user!, password!, database!)
  }
  return {
    env: { MEMCACHE_SERVERS: memcached, DATABASE_URL: url },
    routes,
    databaseUrl: url,
    embedded: false,
  }
}

function endOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

async function makeDatabase(
  url: string,
  user: string,
  password: string,
  database: string,
): Promise<void> {
  const connection = await createConnection(url)
  for (const statement of [
    `DROP DATABASE IF EXISTS \`${database}\``,
    `CREATE DATABASE \`${database}\``,
    `CREATE USER IF NOT EXISTS '${user}'@'%' IDENTIFIED BY '${password}'`,
    `GRANT ALL ON \`${database}\`.* TO '${user}'@'%'`,
  ]) {
    await connection.query(statement)
  }
  await connection.end()
}

async function makePostgresDatabase(
  url: string,
  user: string,
  password: string,
  database: string,
): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    // Another block may have named the same.
    await client.query(`DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`)
    await client.query(`DROP ROLE IF EXISTS "${user}"`)
    await client.query(`CREATE ROLE "${user}" LOGIN PASSWORD '${password}'`)
    await client.query(`CREATE DATABASE "${database}" OWNER "${user}"`)
  } finally {
    await client.end()
  }
}
