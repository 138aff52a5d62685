/**
 * The Database port: SQL with parameters (`?`), transactions, and the database's own clock.
 * Integers come back as `number` when they are safe integers and as `bigint` otherwise; binary
 * columns as Buffers.
 *
 * Everything rejects with a {@link DatabaseError} when the database does.
 */
export interface Database extends Queryable {
  /**
   * Runs `work` in one READ COMMITTED transaction and commits. If `work`, any of its statements
   * (even one whose error it swallows) or the commit rejects, all is rolled back and the error is
   * passed on. The connection is not used again. After a failed commit the outcome is unknown.
   * Nothing is retried here. Within `work` use only `tx`.
   *
   * `work` may pause for at most 10 s between two statements, since others wait for its locks.
   * After a longer pause all is rolled back.
   *
   * @throws DatabaseError `DATABASE_TRANSACTION_IDLE` when `work` ran no statement for longer.
   * @throws DatabaseError `DATABASE_TRANSACTION_LOST` when something has committed the transaction
   * before its end. A part of it is stored then, its locks were gone, and a retry would store that
   * part twice.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Brings the tables of some parts of the package, or of all, up to its version, forward only.
   * Safe when several processes start at once.
   *
   * @param parts names of folders in `sql/<dialect>/`
   * @throws DatabaseError `DATABASE_NEWER` when a newer version of the package has made tables that
   * this one cannot use, `DATABASE_FOREIGN_TABLE` when another program has a table of the same
   * name.
   */
  migrate(parts?: readonly string[]): Promise<void>
  /**
   * Waits for calls under way, and closes the connections. Idempotent. Every later call rejects
   * with `DATABASE_CLOSED`.
   */
  close(): Promise<void>
}

/** Something that takes SQL: a database, or a transaction in it. */
export interface Queryable {
  /** The dialect of SQL that it takes. */
  readonly dialect: Dialect
  /**
   * The most bytes that one statement may have, its SQL text with its values in it. MySQL's comes
   * from `max_allowed_packet`: in a transaction that of its connection; elsewhere the smallest that
   * any connection has had so far, and a cautious 32 KiB before the first. A longer statement is
   * refused with category `data`. `statementsOf` in `bulk.ts` cuts rows to fit.
   */
  readonly maxStatementBytes: number
  /** Runs one statement. Each `?` in it stands for one of the parameters, in their order. */
  query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult>
  /** The database's clock: milliseconds since the Unix epoch. */
  now(): Promise<number>
}

/**
 * A transaction under way. It is of no use after `work` has ended.
 *
 * Its `query` takes statements that begin with SELECT, INSERT, UPDATE, DELETE, REPLACE, WITH or
 * LOAD DATA, and SET of user variables (`SET @name = …`). It refuses others, with
 * `DATABASE_STATEMENT_REFUSED`, before it sends them: DDL, COMMIT, BEGIN, LOCK TABLES, procedures
 * or another autocommit would commit what came before and drop the locks. Executable comments
 * (`/*! … *\/`) are refused too.
 */
export interface Transaction extends Queryable {
  /**
   * Inserts rows faster than INSERT does, all of them or none. Where it cannot, it rejects with
   * category `data`. Reads `rows` later, some at a time, so a source may reuse one array for all.
   * Not given where the database has no such way, or does not allow it.
   */
  readonly load?:
    | ((
        table: string,
        columns: readonly string[],
        rows: Iterable<readonly SqlValue[]>,
        count: number,
      ) => Promise<QueryResult>)
    | undefined
  /**
   * Has `hook` run when `work` has resolved, just before the commit: all row locks of the work are
   * held by then. Hooks run one after the other, in the order in which they came. If one rejects,
   * all is rolled back.
   *
   * @throws DatabaseError `DATABASE_TRANSACTION_ENDED`
   */
  beforeCommit(hook: () => Promise<void>): void
}

/**
 * Bytes of a statement that any database takes, unless somebody has set a very low limit. Used
 * until the database has been reached.
 */
export const ASSUMED_STATEMENT_BYTES = 32 * 1024

/** MySQL and MariaDB speak one dialect here. */
export type Dialect = 'mysql' | 'postgres' | 'sqlite'

/** A parameter of a statement, or a value of a row. */
export type SqlValue = string | number | bigint | Buffer | null
/** A row of a result: its values by the names of their columns. */
export type SqlRow = { readonly [column: string]: SqlValue }

/** The result of one statement. */
export interface QueryResult {
  /** The rows of a SELECT; empty otherwise. */
  readonly rows: readonly SqlRow[]
  /**
   * The rows an INSERT, UPDATE or DELETE has matched (MySQL counts an upsert that updates as 2).
   */
  readonly affectedRows: number
}

/**
 * Category of a failure. `unreachable`: no connection (then {@link DatabaseError.unsent}), or it
 * broke, or no answer in time (the outcome is unknown). `lock`: deadlock or lock-wait timeout.
 * `capacity`: no space, read-only, too many connections. `data`: the values themselves are refused
 * (too long, constraint, wrong type). `usage`: anything else: a missing table, a missing right,
 * wrong SQL, closed. All but `data` say nothing about the rows at hand.
 */
export type DatabaseErrorCategory = 'unreachable' | 'lock' | 'capacity' | 'data' | 'usage'

/** A failure of the database. Its message never has credentials or parameter values. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  /**
   * The driver's own code (`ER_DUP_ENTRY`, `SQLITE_BUSY`), the SQLSTATE of PostgreSQL (`40P01`), or
   * `DATABASE_BINLOG_FORMAT`, `DATABASE_CLIENT`,
   * `DATABASE_CLOSED`, `DATABASE_DRIVER_MISSING`, `DATABASE_FOREIGN_TABLE`,
   * `DATABASE_MIGRATING`, `DATABASE_MOVED`, `DATABASE_NEWER`, `DATABASE_NOT_LOADED`,
   * `DATABASE_NO_TRANSACTION`,
   * `DATABASE_OTHER`, `DATABASE_QUEUE_FULL`, `DATABASE_READ_ONLY`,
   * `DATABASE_STATEMENT_REFUSED`, `DATABASE_STATEMENT_TOO_LONG`, `DATABASE_THREAD_DIED`,
   * `DATABASE_TOO_MANY_VALUES`, `DATABASE_TRANSACTION_ENDED`,
   * `DATABASE_TRANSACTION_IDLE`, `DATABASE_TRANSACTION_LOST`.
   */
  readonly code: string
  /** The category of failure, which is the same for all databases. */
  readonly category: DatabaseErrorCategory
  /** There was no connection, so nothing was sent: the outcome is known, whatever the category. */
  readonly unsent: boolean
  /** `host:port` or the socket of the server that has failed, where there is one. */
  readonly server: string | undefined

  constructor(
    code: string,
    category: DatabaseErrorCategory,
    message: string,
    options: ErrorOptions & { unsent?: boolean; server?: string | undefined } = {},
  ) {
    super(message, options)
    this.code = code
    this.category = category
    this.unsent = options.unsent ?? false
    this.server = options.server
  }
}
