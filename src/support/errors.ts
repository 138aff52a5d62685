/** Returns the message of an error, or any other caught value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
