import type { Logger } from './logger.js'

/** A logger that keeps its lines. */
export interface KeptLog extends Logger {
  readonly lines: string[]
  /** Lines that match. */
  matching(pattern: RegExp): string[]
}

export function keptLog(): KeptLog {
  const lines: string[] = []
  const keep = (line: string): void => void lines.push(line)
  return {
    lines,
    matching: (pattern) => lines.filter((line) => pattern.test(line)),
    info: keep,
    warn: keep,
    error: keep,
  }
}
