/**
 * The sessions of one process on a PostgreSQL server, through pg's pool. When a session shows that
 * its server is the wrong one (read-only, after a failover) or silent, the pool is replaced: each
 * connection of it would cost the same failure again.
 */
import type { Pool, PoolClient, PoolConfig } from 'pg'
import { within } from '../../support/within.js'
import { closedError, cutOffError } from '../closed.js'
import { noneFree, queueFull } from '../servers/errors.js'
import { CONNECT_TIMEOUT_MS, QUEUE_LIMIT, QUIT_TIMEOUT_MS } from '../servers/limits.js'
import type { Place } from '../servers/place.js'
import type { ServerSessions } from '../servers/sessions.js'
import { connectTo } from '../servers/silent-servers.js'
import { condemnsOthers } from './errors.js'
import { loadPackage } from './package.js'
import { connectionError, placeOf } from './place.js'
import { MAX_STATEMENT_BYTES, PostgresSession } from './session.js'

/** Message of pg's pool to a caller that has waited too long for a free connection. */
const NONE_FREE = 'timeout exceeded when trying to connect'
/** Ends the wait for a connection of a pool that has been replaced. */
const REPLACED = Symbol('replaced')

export class PostgresSessions implements ServerSessions<PostgresSession> {
  readonly maxStatementBytes = MAX_STATEMENT_BYTES
  readonly #options: PoolConfig
  readonly #place: Place
  readonly #used = new Set<PostgresSession>()
  /** Ends the waits for a connection. */
  readonly #waiting = new Set<(reason: unknown) => void>()
  #pool: Pool

  constructor(options: PoolConfig) {
    this.#options = options
    this.#place = placeOf(options)
    this.#pool = openPool(options)
  }

  get place(): string {
    return this.#place.name
  }

  async acquire(): Promise<PostgresSession> {
    for (;;) {
      const pool = this.#pool
      if (pool.waitingCount >= QUEUE_LIMIT) throw queueFull()
      const connect = () => this.#connectionOf(pool)
      try {
        // A connection that is open needs no attempt.
        const client = await (pool.idleCount > 0 || pool.totalCount >= pool.options.max
          ? connect()
          : connectTo(this.#place.server, connect))
        return this.#sessionOf(client)
      } catch (error) {
        if (error !== REPLACED) throw error
      }
    }
  }

  end(session: PostgresSession, error: unknown): void {
    session.destroy(error)
    if (condemnsOthers(error)) this.#replace(REPLACED)
  }

  leave(reason: unknown): void {
    this.#replace(reason)
  }

  async close(): Promise<void> {
    for (const session of this.#used) session.destroy(cutOffError())
    for (const fail of this.#waiting) fail(closedError())
    await within(QUIT_TIMEOUT_MS, this.#pool.end())
  }

  /** Has the connections closed: those in use when they are free. */
  #replace(reason: unknown): void {
    void this.#pool.end().catch(() => undefined)
    this.#pool = openPool(this.#options)
    for (const fail of this.#waiting) fail(reason)
  }

  #connectionOf(pool: Pool): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let hasFailed = false
      const fail = (reason: unknown): void => {
        hasFailed = true
        this.#waiting.delete(fail)
        reject(reason)
      }
      this.#waiting.add(fail)
      pool.connect().then(
        (client) => {
          if (hasFailed) return client.release(true)
          this.#waiting.delete(fail)
          resolve(client)
        },
        (error: unknown) => fail(fromPool(error, this.#place)),
      )
    })
  }

  #sessionOf(client: PoolClient): PostgresSession {
    const session = new PostgresSession(client, this.#place, (isUseless) => {
      this.#used.delete(session)
      client.release(isUseless)
    })
    this.#used.add(session)
    return session
  }
}

function openPool(options: PoolConfig): Pool {
  const pg = loadPackage()
  // The pool's limit is that of waiting for a connection of others, too.
  class Client extends pg.Client {
    constructor() {
      super({ ...options, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
      // A connection that breaks tells its statements so, and without a listener the process.
      this.on('error', () => undefined)
    }
  }
  const pool = new pg.Pool({ ...options, Client })
  pool.on('error', () => undefined)
  return pool
}

function fromPool(error: unknown, place: Place): unknown {
  if (error instanceof Error && error.message === NONE_FREE) return noneFree()
  return connectionError(error, place)
}
