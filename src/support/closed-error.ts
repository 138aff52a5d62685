/**
 * A method was called after `close()`, or while it was under way. Nothing was done. All classes
 * reject with it; the caches and databases have errors of their own, `CACHE_CLOSED` and
 * `DATABASE_CLOSED`.
 */
export class ClosedError extends Error {
  override readonly name = 'ClosedError'
  /** The same for all classes, for programs. */
  readonly code = 'CLOSED'

  /**
   * @param what the class, such as `Sequence`
   * @param name the name or id it was made with
   */
  constructor(what: string, name: string) {
    super(
      `wide-cache: ${what} "${name}" has been closed by close(). Call close() after the last ` +
        `use, or create a new ${what}`,
    )
  }
}
