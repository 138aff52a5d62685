/** Longest reason kept in a table, in characters. */
const MAX_REASON = 500

/** Returns the reason why a function of the user has failed, for a table and an operator. */
export function reasonOf(error: unknown, what: string): string {
  const text =
    error instanceof Error
      ? `${error.name}: ${error.message}`
      : `${what} has thrown a value that is not an Error`
  return text.slice(0, MAX_REASON)
}
