/**
 * The sessions of one process on a PostgreSQL server, through pg's pool. When a session shows that
 * its server is the wrong one (read-only, after a failover) or silent, the pool is replaced: each
 * connection of it would cost the same failure again.
 */
import { Socket } from 'node:net'
import type { Pool, PoolClient, PoolConfig } from 'pg'
import { within } from '../../support/within.js'
import { closedError, cutOffError } from '../closed.js'
import { condemnsOthers, queueFull } from '../servers/errors.js'
import { CONNECT_TIMEOUT_MS, QUEUE_LIMIT, QUIT_TIMEOUT_MS } from '../servers/limits.js'
import { connectionError, type Place, placeOf } from '../servers/place.js'
import type { ServerSessions } from '../servers/sessions.js'
import { connectTo, isSilent } from '../servers/silent-servers.js'
import { WaitingCallers } from '../servers/waiting.js'
import { loadPackage } from './package.js'
import { MAX_STATEMENT_BYTES, PostgresSession } from './session.js'
import { POSTGRES } from './words.js'

/** Ends the wait for a connection of a pool that has been replaced. */
const REPLACED = Symbol('replaced')

export class PostgresSessions implements ServerSessions<PostgresSession> {
  readonly maxStatementBytes = MAX_STATEMENT_BYTES
  readonly #options: PoolConfig
  readonly #place: Place
  readonly #used = new Set<PostgresSession>()
  readonly #waiting = new WaitingCallers()
  /** Of connections that are being made, which the pool does not close. */
  readonly #connecting = new Set<Socket>()
  #pool: Pool

  constructor(options: PoolConfig) {
    this.#options = options
    this.#place = placeOf(POSTGRES, options)
    this.#pool = openPool(options, this.#connecting)
  }

  get place(): string {
    return this.#place.name
  }

  async acquire(): Promise<PostgresSession> {
    for (;;) {
      const pool = this.#pool
      if (pool.waitingCount >= QUEUE_LIMIT) throw queueFull()
      const ask = () =>
        pool.connect().catch((error: unknown) => {
          throw connectionError(POSTGRES, error, this.#place)
        })
      const connect = () => this.#waiting.connection(ask, (late) => late.release())
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

  dropSilent(): void {
    if (isSilent(this.#place.server)) this.#stopConnecting()
  }

  async close(): Promise<void> {
    for (const session of this.#used) session.destroy(cutOffError())
    this.#stopConnecting()
    await within(QUIT_TIMEOUT_MS, this.#pool.end())
  }

  #stopConnecting(): void {
    this.#waiting.fail(closedError())
    for (const socket of this.#connecting) socket.destroy()
  }

  /** Has the connections closed: those in use when they are free. */
  #replace(reason: unknown): void {
    void this.#pool.end().catch(() => undefined)
    this.#pool = openPool(this.#options, this.#connecting)
    this.#waiting.fail(reason)
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

/** @param connecting gets the sockets of connections while they are being made */
function openPool(options: PoolConfig, connecting: Set<Socket>): Pool {
  const pg = loadPackage()
  // The pool's limit is that of waiting for a connection of others, too.
  class Client extends pg.Client {
    constructor() {
      const socket = new Socket()
      super({ ...options, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, stream: () => socket })
      connecting.add(socket)
      const made = (): void => void connecting.delete(socket)
      this.once('connect', made).once('end', made)
      // A connection that breaks tells its statements so, and without a listener the process.
      this.on('error', () => undefined)
    }
  }
  const pool = new pg.Pool({ ...options, Client })
  pool.on('error', () => undefined)
  return pool
}
