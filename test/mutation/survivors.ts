/**
 * Mutants that no judge finds, each with the reason why that is right:
 * test/mutation/survivors.json.
 */
import { readFileSync } from 'node:fs'
import type { Mutant } from './mutants.js'

/** A mutant as a person reads it. Line numbers would change with every edit above it. */
export interface Description {
  readonly file: string
  readonly was: string
  readonly is: string
}

export interface Explanation extends Description {
  readonly why: string
}

export function readExplanations(): Explanation[] {
  return JSON.parse(
    readFileSync(new URL('./survivors.json', import.meta.url), 'utf8'),
  ) as Explanation[]
}

export function isOf({ file, was, is }: Description): (other: Description) => boolean {
  return (other) => other.file === file && other.was === was && other.is === is
}

/** Explanations of mutants that there are no more: the source has changed. */
export function outdated(
  explanations: readonly Explanation[],
  mutants: readonly Mutant[],
): Explanation[] {
  return explanations.filter((explanation) => !mutants.some(isOf(explanation)))
}
