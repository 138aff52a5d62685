// (n) The views of each page in the process, brought to SQL every 10 s by one statement for each
// row. What SQL does not take is kept for the next time.
import { openCounts, repeated, Views } from './counts.js'
import { tracker } from './express.js'

const FLUSH_MS = 10_000

export async function start({ mysqlUrl }) {
  const counts = await openCounts(mysqlUrl)
  const views = new Views()
  const flushes = repeated(async () => {
    for (const [page, n] of views.take()) await counts.add(page, n).catch(() => views.add(page, n))
  }, FLUSH_MS)
  const { record, use } = tracker(async ({ page }) => views.add(page))
  return {
    use,
    record,
    finish: flushes.run,
    async count() {
      await flushes.run()
      return counts.count()
    },
    async close() {
      flushes.stop()
      await flushes.run()
      await counts.close()
    },
  }
}
