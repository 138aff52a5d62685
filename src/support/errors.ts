/** What a caught value says of itself. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
