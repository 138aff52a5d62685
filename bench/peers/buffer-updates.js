// The views of each page in the process, brought to SQL every 10 s by one statement for each
// row. What SQL does not take is kept for the next time.
import { openCounts, Views } from './counts.js'
import { repeated } from './repeated.js'
import { contender } from './express.js'

const FLUSH_MS = 10_000

export async function start({ mysqlUrl }) {
  const counts = await openCounts(mysqlUrl)
  const views = new Views()
  const flushes = repeated(async () => {
    for (const [page, n] of views.take()) await counts.add(page, n).catch(() => views.add(page, n))
  }, FLUSH_MS)
  return contender(async ({ page }) => views.add(page), {
    finish: flushes.run,
    count: counts.count,
    async close() {
      flushes.stop()
      await flushes.run()
      await counts.close()
    },
  })
}
