/**
 * A row of the tables of what servers can say. Categories, the remedies in messages, and the tables
 * of docs/errors.md follow from these rows; tests provoke them on real servers.
 */
export interface Said {
  /** The words or codes by which the server says it. */
  readonly codes: readonly string[]
  /** What has happened, for the page. */
  readonly cause: string
  /** What the operator does, for the page and for the message. */
  readonly remedy: string
}
