import type { Logger } from './logger.js'

export interface KeptLog extends Logger {
  readonly lines: string[]
}

export function keptLog(): KeptLog {
  const lines: string[] = []
  const keep = (line: string): void => void lines.push(line)
  return { lines, info: keep, warn: keep, error: keep }
}
