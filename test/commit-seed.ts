/**
 * The seed of the tests that draw: it follows from the commit, so that a commit always draws the
 * same, and each commit something else. `test/run.ts` prints it.
 */
import { execFileSync } from 'node:child_process'

/** Set to repeat what another commit has drawn. */
export const SEED_VARIABLE = 'WIDE_CACHE_TEST_SEED'

const given = process.env[SEED_VARIABLE]

/** A whole number below 2^28; 0 outside of a git repository. */
export const SEED = given === undefined ? seedOfCommit() : Number(given)

function seedOfCommit(): number {
  try {
    const head = ['rev-parse', '--short=7', 'HEAD']
    const options = { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' } as const
    return Number.parseInt(execFileSync('git', head, options).slice(0, 7), 16)
  } catch {
    return 0
  }
}
