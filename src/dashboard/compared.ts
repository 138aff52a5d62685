/** The counts of a list beside those of the period before. */
import type { Range } from './source.js'
import { before, type Span } from './span.js'

/** The counts of a value in the units that are over, and in as many before; none: not known. */
export interface Compared {
  readonly over?: number
  readonly before?: number
}

export interface Counts<Value> {
  readonly listed: ReadonlyMap<Value, number>
  /** Whether values that are not listed have no counts. */
  readonly isWhole: boolean
}

/**
 * Reads the counts that the values of a list are compared with. Only whole units are compared,
 * hours or days: one that has begun would be compared with a whole one. `read` gives `null` where
 * it has none.
 */
export async function comparison<Value>(
  span: Span,
  { now, unitMs }: { readonly now: number; readonly unitMs: number },
  read: (range: Range) => Promise<Counts<Value> | null>,
): Promise<(value: Value, count: number) => Compared> {
  const { from, to } = span
  const end = Math.max(from, Math.min(to, Math.floor(now / unitMs) * unitMs))
  const counts = (range: Range) => (range.from < range.to ? read(range) : null)
  const [over, earlier] = await Promise.all([
    end < to ? counts({ from, to: end }) : undefined,
    counts(before(span, end)),
  ])
  return (value, count) => {
    const later = over === undefined ? count : countOf(value, over)
    const sooner = countOf(value, earlier)
    return later === undefined || sooner === undefined ? {} : { over: later, before: sooner }
  }
}

/** Returns the count of a value; `undefined`: it is not known. */
function countOf<Value>(value: Value, counts: Counts<Value> | null): number | undefined {
  return counts?.listed.get(value) ?? (counts?.isWhole ? 0 : undefined)
}
