import { DatabaseError } from '../database/database.js'
import type { Environment } from '../support/environment.js'
import { AbandonedCallError } from './calls.js'
import type { Buckets } from './buckets.js'
import { HASHES } from './encoding.js'

/**
 * Does `work` for each bucket with something queued, one after the other, and adds up what it
 * returns. A bucket that fails does not stop the others; in the end the first error is thrown.
 * Without a database, and once `close()` has given up, none would fare better: then at once.
 */
export async function eachBucket(
  buckets: Buckets,
  { random }: Pick<Environment, 'random'>,
  work: (bucket: number) => Promise<number>,
): Promise<number> {
  let sum = 0
  let failure: { readonly error: unknown } | undefined
  // Processors that start at once begin at different places, each going round once.
  const start = Math.floor(random() * HASHES)
  for (const [from, to] of [
    [start, HASHES],
    [0, start],
  ] as const) {
    for (let hash = from; hash < to;) {
      const next = await buckets.next(hash, to)
      if (!next) break
      hash = next.last + 1
      try {
        sum += await work(next.bucket)
      } catch (error) {
        if (endsAll(error)) throw error
        failure ??= { error }
      }
    }
  }
  if (failure) throw failure.error
  return sum
}

function endsAll(error: unknown): boolean {
  if (error instanceof AbandonedCallError) return error.code === 'CLOSED'
  return (
    error instanceof DatabaseError &&
    (error.category === 'unreachable' || error.category === 'capacity')
  )
}
