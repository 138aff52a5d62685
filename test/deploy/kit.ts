/** The files of `deploy/`. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder. */
export const KIT = fileURLToPath(new URL('../../deploy/', import.meta.url))

/** The text of one of its files. */
export function kitFile(file: string): string {
  return readFileSync(`${KIT}${file}`, 'utf8')
}

/** The names of its alerts. */
export function alertsOf(text: string): string[] {
  return [...text.matchAll(/^ *-? *alert: (\w+)$/gm)].map(([, name = '']) => name)
}

/** The metrics of wide-cache that a text names. */
export function metricsIn(text: string): string[] {
  return [...new Set(text.match(/\bwide_cache_[a-z_]+/g))].sort()
}
