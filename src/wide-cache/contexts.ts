/** Arguments, beside rows and database, of the functions that activity, hits or a user hand in. */

/** Context that `commit` gets beside its rows. */
export interface CommitContext {
  /** The database's clock at this transaction, in milliseconds since the Unix epoch. */
  readonly now: number
  /** The name of the wide cache. */
  readonly name: string
}

/** Context that `read` gets. */
export interface ReadContext {
  /** The name of the wide cache. */
  readonly name: string
  /**
   * The moment up to which all is in SQL, in milliseconds since the Unix epoch; never ahead of the
   * database's clock.
   */
  readonly asOf: number
  /**
   * Whether that moment is longer ago than it would be if collectors came as often as they should.
   */
  readonly stale: boolean
  /**
   * From this moment on the figures are older than they should be, and still served only because
   * the database is away; in milliseconds since the Unix epoch, by the database's clock.
   */
  readonly staleAt: number
}

/** Context that `removeOld` gets. */
export interface RetentionContext {
  /**
   * The safe clock of the name, in milliseconds since the Unix epoch: what is old by it is old,
   * though the database's clock may be ahead. It is never ahead of that one.
   */
  readonly now: number
  /** The name of the wide cache. */
  readonly name: string
}
