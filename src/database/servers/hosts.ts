/**
 * The servers of one database: a cluster, or a primary and its standby. A process uses one at a
 * time. It moves to the next when that one refuses connections, is read-only, has left its cluster,
 * or is gone. Of several servers, one is used only if it is writable, knows all that the cluster
 * has committed, and has the same database by its {@link databaseId}.
 */
import { messageOf } from '../../support/errors.js'
import type { BurstLogger } from '../../support/logger.js'
import { DatabaseError, type QueryResult } from '../database.js'
import { databaseId } from '../identity.js'
import { isWrongServer, unsent } from './errors.js'
import { BEGIN_TIMEOUT_MS } from './limits.js'
import type { ServerSession, ServerSessions } from './sessions.js'

/** Errors of this process itself, which another server would not change. */
const OWN = /^DATABASE_(?:CLOSED|QUEUE_FULL|DRIVER_MISSING)$/

/**
 * Tells whether the server of a session takes writes. Has the session see all that the cluster has
 * committed.
 */
export type IsWritable = (query: (sql: string) => Promise<QueryResult>) => Promise<boolean>

export class Hosts<Session extends ServerSession> {
  readonly #hosts: readonly ServerSessions<Session>[]
  readonly #isWritable: IsWritable
  readonly #logger: BurstLogger
  readonly #hostOf = new WeakMap<Session, ServerSessions<Session>>()
  /** Sessions found to be on the right server: an address may come to mean another one. */
  readonly #checked = new WeakSet<Session>()
  #current: ServerSessions<Session>
  /** The server that has been found to be the right one, as long as it is the current one. */
  #admitted: ServerSessions<Session> | undefined
  /** The server that was admitted last. `#reason`: why it was left. */
  #previous: ServerSessions<Session> | undefined
  #reason = ''
  /** The id of the database; `undefined` until a server has told one. */
  #identity: string | undefined

  /** `hosts`: at least one. */
  constructor(
    hosts: readonly ServerSessions<Session>[],
    isWritable: IsWritable,
    logger: BurstLogger,
  ) {
    this.#hosts = hosts
    this.#current = hosts[0]!
    this.#isWritable = isWritable
    this.#logger = logger
  }

  get maxStatementBytes(): number {
    return this.#current.maxStatementBytes
  }

  get knowsRowAlias(): boolean {
    return this.#current.knowsRowAlias ?? false
  }

  /**
   * A session on the current server, for its caller alone until it is recycled or ended by
   * {@link end}. Tries each server once.
   */
  async acquire(): Promise<Session> {
    const failures: DatabaseError[] = []
    for (;;) {
      const host = this.#current
      try {
        return await this.#acquireFrom(host)
      } catch (error) {
        if (!(error instanceof DatabaseError) || OWN.test(error.code)) throw error
        failures.push(error)
        this.#leave(host, error)
        if (failures.length >= this.#hosts.length) throw allFailed(failures)
      }
    }
  }

  /** Cuts the session's connection because of `error`, and leaves a server that is wrong. */
  end(session: Session, error: unknown): void {
    const host = this.#hostOf.get(session)
    host?.end(session, error)
    if (host && isWrongServer(error)) this.#leave(host, error)
  }

  /** Ends attempts to connect to servers that are silent. */
  dropSilent(): void {
    for (const host of this.#hosts) host.dropSilent()
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.close()))
  }

  async #acquireFrom(host: ServerSessions<Session>): Promise<Session> {
    const session = await host.acquire()
    this.#hostOf.set(session, host)
    if (this.#hosts.length === 1 || this.#checked.has(session)) return session
    try {
      if (this.#current !== host) throw left(host)
      await this.#admit(host, session)
      return session
    } catch (error) {
      host.end(session, error)
      throw unsent(error)
    }
  }

  /** @throws DatabaseError if this server is not to be used */
  async #admit(host: ServerSessions<Session>, session: Session): Promise<void> {
    const query = (sql: string) => session.query(sql, [], BEGIN_TIMEOUT_MS)
    if (!(await this.#isWritable(query))) throw readOnly(host)
    const identity = await databaseId(query)
    if (this.#identity !== undefined && identity !== this.#identity) throw this.#otherDatabase(host)
    // Before the tables have been made, each connection asks again.
    if (identity === undefined || this.#current !== host) return
    this.#checked.add(session)
    this.#identity = identity
    this.#admitted = host
    if (this.#previous && this.#previous !== host) {
      this.#logger.warn(
        `moved to ${host.place}`,
        `wide-cache: the database is now used through ${host.place} instead of ` +
          `${this.#previous.place}. The reason: ${this.#reason}`,
      )
    }
    this.#previous = host
  }

  /** Goes on to the next server, unless that has been done. */
  #leave(host: ServerSessions<Session>, reason: unknown): void {
    if (this.#current !== host || this.#hosts.length === 1) return
    this.#current = this.#hosts[(this.#hosts.indexOf(host) + 1) % this.#hosts.length]!
    if (this.#admitted === host) this.#reason = messageOf(reason)
    this.#admitted = undefined
    host.leave(left(host))
  }

  #otherDatabase(host: ServerSessions<Session>): DatabaseError {
    const message =
      `${host.place} has another database than ${this.#previous?.place}: its grids and counters ` +
      'are others. It is not used. Name servers that replicate one database, or take it out of ' +
      'the list of hosts'
    this.#logger.warnOnce(`other database ${host.place}`, `wide-cache: ${message}`)
    return new DatabaseError('DATABASE_OTHER', 'unreachable', message)
  }
}

function readOnly(host: ServerSessions): DatabaseError {
  const message = `${host.place} is read-only. Name a writable host, or end the failover`
  return new DatabaseError('DATABASE_READ_ONLY', 'capacity', message)
}

function left(host: ServerSessions): DatabaseError {
  // A caller that still waits for a connection has sent nothing.
  const message = `${host.place} is no longer used`
  return new DatabaseError('DATABASE_MOVED', 'unreachable', message, { unsent: true })
}

/** One error for those of all servers. It passes by itself if one of them does. */
function allFailed(failures: readonly DatabaseError[]): DatabaseError {
  const [first] = failures as [DatabaseError]
  if (failures.length === 1) return first
  const { code, category } = failures.find((failure) => failure.category !== 'usage') ?? first
  const messages = failures.map(({ message }) => message).join('; ')
  return new DatabaseError(code, category, `No host of the database can be used: ${messages}`, {
    unsent: failures.every((failure) => failure.unsent),
    server: failures.find((failure) => failure.server !== undefined)?.server,
  })
}
