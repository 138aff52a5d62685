/**
 * The collision model: which share of its visits a cache loses that is written by get, change, set.
 *
 * Visits come to a cell as a Poisson process of rate m = rate / width. A visit reads the cell at
 * some moment g and writes it back at g + t, t being the window. What it writes is what it read and
 * itself; so the array that is left in the end is the last visit, the visit whose array that one
 * had read, the one that this one had read, and so on. The last visit read at g, and what it read
 * was written by the latest visit that had ended by then: the latest one that read before g - t.
 * Going back in time from any visit that survives, the next survivor is thus a window and then the
 * wait for the next visit away: t + 1/m on average, where visits are 1/m apart. So of all visits
 *
 *     1 / (1 + m t) survive, and x / (1 + x) are lost, with x = m t = rate * window / width.
 *
 * Of two visits that overlap the earlier dies: the later, which has read before the earlier wrote,
 * writes after it. But not all that overlap with a later one die, which 1 - exp(-x) would say: a
 * third may have read the earlier one's array and overwrite the later in turn, and then the earlier
 * is back. To first order both are x.
 *
 * A layer ends with a survivor, which saves each cell less than half a visit more than this; that
 * is left out.
 */
export function lostShare({
  rate,
  windowSeconds,
  width,
}: {
  rate: number
  windowSeconds: number
  width: number
}): number {
  const x = (rate * windowSeconds) / width
  return x / (1 + x)
}
