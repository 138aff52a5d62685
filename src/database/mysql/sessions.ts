/**
 * The sessions of one process on a MySQL server, through mysql2's pool. A session that is not
 * needed is closed before the server would do it, so that no caller gets a dead one. When one shows
 * that its server is the wrong one (read-only, after a failover) or silent, the others are closed
 * too: each would cost the same failure again.
 */
import { connect, type Socket } from 'node:net'
import type { Pool, PoolConnection, PoolOptions } from 'mysql2'
import { messageOf } from '../../support/errors.js'
import { within } from '../../support/within.js'
import { closedError, cutOffError } from '../closed.js'
import { ASSUMED_STATEMENT_BYTES, type DatabaseError } from '../database.js'
import { condemnsOthers, queueFull, unsent } from '../servers/errors.js'
import { KEEP_ALIVE_MS, QUIT_TIMEOUT_MS } from '../servers/limits.js'
import { connectionError, type Place, placeOf } from '../servers/place.js'
import type { ServerSessions } from '../servers/sessions.js'
import { connectTo, isSilent } from '../servers/silent-servers.js'
import { WaitingCallers } from '../servers/waiting.js'
import type { Loading } from './load-data.js'
import { lockHolders } from './lock-holders.js'
import { MysqlSession, streamOf } from './session.js'
import { MYSQL } from './words.js'

export class MysqlSessions implements ServerSessions<MysqlSession> {
  readonly #options: PoolOptions
  readonly #place: Place
  readonly #loading: Loading
  readonly #sessions = new Map<PoolConnection, MysqlSession>()
  readonly #whoHolds: (connectionId: number) => Promise<string | undefined>
  /** Connections that are of no use any more: one may end while the pool hands it over. */
  readonly #ended = new WeakSet<PoolConnection>()
  readonly #waiting = new WaitingCallers()
  /** Of connections that are being made, which the pool does not close. */
  readonly #connecting = new Set<Socket>()
  /** The smallest of all connections so far. */
  #maxStatementBytes = Infinity
  /** What all connections so far know. */
  #knowsRowAlias: boolean | undefined
  #pool: Promise<Pool> | undefined

  constructor(options: PoolOptions, loading: Loading = { works: true }) {
    this.#options = options
    this.#loading = loading
    this.#place = placeOf(MYSQL, options)
    this.#whoHolds = lockHolders(options)
  }

  /** The server, in the words of messages. */
  get place(): string {
    return this.#place.name
  }

  get maxStatementBytes(): number {
    return this.#maxStatementBytes === Infinity ? ASSUMED_STATEMENT_BYTES : this.#maxStatementBytes
  }

  get knowsRowAlias(): boolean {
    return this.#knowsRowAlias ?? false
  }

  /**
   * A session in the known state, for its caller alone until it is recycled or ended by
   * {@link end}.
   */
  async acquire(): Promise<MysqlSession> {
    this.#pool ??= this.#openPool()
    const pool = await this.#pool
    // No more rounds than connections: each but the last is for one that has ended.
    for (;;) {
      const ask = () => connectionOf(pool, this.#place)
      const connect = () => this.#waiting.connection(ask, (late) => late.destroy())
      // A connection that is open needs no attempt.
      const connection = this.#hasFree()
        ? await connect()
        : await connectTo(this.#place.server, connect)
      if (this.#ended.has(connection)) continue
      const known = this.#sessions.get(connection)
      if (!known) return this.#begin(connection)
      if (known.take()) return known
    }
  }

  /**
   * Cuts the session's connection because of `error`, and those beside it that have the same fault.
   */
  end(session: MysqlSession, error: unknown): void {
    session.destroy(error)
    if (condemnsOthers(error)) this.condemn(error)
  }

  /** Has all sessions closed: those that are in use once they are free. */
  condemn(reason: unknown): void {
    for (const session of this.#sessions.values()) session.condemn(reason)
  }

  /** Has all sessions closed, and rejects callers that wait for one, because of `reason`. */
  leave(reason: unknown): void {
    this.condemn(reason)
    this.#waiting.fail(reason)
  }

  dropSilent(): void {
    if (isSilent(this.#place.server)) this.#stopConnecting()
  }

  async close(): Promise<void> {
    const pool = await this.#pool
    if (!pool) return
    this.#stopConnecting()
    const all = () => [...this.#sessions.values()]
    for (const session of all()) if (session.busy) session.destroy(cutOffError())
    await within(QUIT_TIMEOUT_MS, new Promise((resolve) => pool.end(resolve)))
    for (const session of all()) session.destroy(cutOffError())
  }

  #stopConnecting(): void {
    this.#waiting.fail(closedError())
    for (const socket of this.#connecting) socket.destroy()
  }

  async #openPool(): Promise<Pool> {
    const { createPool } = (await import('mysql2')).default
    const pool = createPool({ ...this.#options, stream: () => this.#openSocket() })
    return pool.on('connection', (made) => this.#connecting.delete(streamOf(made)!))
  }

  /** As mysql2 opens it by default. */
  #openSocket(): Socket {
    const { socketPath, host, port = 3306 } = this.#options
    const socket = socketPath ? connect(socketPath) : connect(port, host).setNoDelay(true)
    if (!socketPath) socket.once('connect', () => socket.setKeepAlive(true, KEEP_ALIVE_MS))
    this.#connecting.add(socket)
    return socket.once('close', () => this.#connecting.delete(socket))
  }

  #hasFree(): boolean {
    return [...this.#sessions.values()].some((session) => session.idle)
  }

  async #begin(connection: PoolConnection): Promise<MysqlSession> {
    const gone = (): void => {
      this.#sessions.delete(connection)
      this.#ended.add(connection)
    }
    const session = new MysqlSession(connection, gone, this.#whoHolds, this.#place, this.#loading)
    this.#sessions.set(connection, session)
    try {
      await session.begin()
      this.#maxStatementBytes = Math.min(this.#maxStatementBytes, session.maxStatementBytes)
      this.#knowsRowAlias = (this.#knowsRowAlias ?? true) && session.knowsRowAlias
      return session
    } catch (error) {
      this.end(session, error)
      throw unsent(error)
    }
  }
}

function connectionOf(pool: Pool, place: Place): Promise<PoolConnection> {
  return new Promise((resolve, reject) => {
    pool.getConnection((error, connection) => {
      if (error) reject(fromPool(error, place))
      else resolve(connection)
    })
  })
}

/**
 * Translates an error of the pool. A full queue and a closed pool keep their errors; all else is a
 * connection that could not be made.
 */
function fromPool(error: unknown, place: Place): DatabaseError {
  switch (messageOf(error)) {
    case 'Queue limit reached.':
      return queueFull()
    case 'Pool is closed.':
      return closedError()
    default:
      return connectionError(MYSQL, error, place)
  }
}
