/** What a check has found. */
export interface Finding {
  /** What was looked at, in a word. */
  readonly check: string
  /** `ok`: nothing is to be done. `warning`: look at it. `error`: something does not work. */
  readonly severity: 'ok' | 'warning' | 'error'
  readonly cause: string
  /** What to do; nothing where all is well. */
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
