/** Result of a check. */
export interface Finding {
  /** Subject of the check, in a word or two. */
  readonly check: string
  /** `ok`: nothing is to be done. `warning`: look at it. `error`: something does not work. */
  readonly severity: 'ok' | 'warning' | 'error'
  readonly cause: string
  /** Action to take. Absent if the severity is `ok`. */
  readonly remedy?: string
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  return {
    ok: (cause: string): Finding => ({ check, severity: 'ok', cause }),
    warning: (cause: string, remedy: string): Finding => ({
      check,
      severity: 'warning',
      cause,
      remedy,
    }),
    error: (cause: string, remedy: string): Finding => ({
      check,
      severity: 'error',
      cause,
      remedy,
    }),
  }
}
