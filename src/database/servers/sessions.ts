/** Interfaces of a driver's connections, for the code that all database servers share. */
import type { QueryResult, SqlValue } from '../database.js'
import type { Connection } from '../open-transaction.js'

/** Ways to run statements in a transaction that is open. */
export type TransactionWays = Pick<Connection, 'prepare' | 'load'>

/** One connection to a server, in a known state, for one user at a time. */
export interface ServerSession {
  readonly maxStatementBytes: number
  query(sql: string, values?: readonly SqlValue[], timeoutMs?: number): Promise<QueryResult>
  /** Runs `work` in a transaction. If it rejects, the session must not be used again. */
  transaction<T>(work: (ways: TransactionWays) => Promise<T>): Promise<T>
  /** Gives it back, as if new. Never rejects. */
  recycle(): Promise<void>
}

/** The sessions of one process on one server. */
export interface ServerSessions<Session extends ServerSession = ServerSession> {
  /** The server, in the words of messages. */
  readonly place: string
  /** The smallest of all sessions so far. */
  readonly maxStatementBytes: number
  /** Whether the servers of all sessions so far know `VALUES … AS new`. @default false */
  readonly knowsRowAlias?: boolean
  /** A session for its caller alone, until it is recycled or ended. */
  acquire(): Promise<Session>
  /**
   * Cuts the session's connection because of `error`, and those beside it that have the same fault.
   */
  end(session: Session, error: unknown): void
  /** Has all sessions closed, and rejects callers that wait for one, because of `reason`. */
  leave(reason: unknown): void
  /** If the server is silent, ends attempts to connect to it, and rejects callers that wait. */
  dropSilent(): void
  close(): Promise<void>
}
