// The same views, counted by wide-cache: page views by an activity, views of threads by hits.
import { createActivity, createHits } from 'wide-cache'

export async function ours({ redisUrl, databaseUrl, run, threads }) {
  const servers = { cache: redisUrl, database: databaseUrl }
  const activity = createActivity({ name: `pages-${run}`, ...servers })
  const hits = createHits({ name: `threads-${run}`, ...servers })
  await Promise.all([activity.migrate(), hits.migrate()])

  const pages = activity.middleware()
  const views = hits.middleware({
    item: (req) => req.params.id,
    viewer: (req) => req.get('x-viewer'),
  })
  return {
    middleware: (req, res, next) => pages(req, res, () => views(req, res, next)),
    /** Brings to SQL what the process and Redis hold. That also happens by itself, all the time. */
    async settle() {
      for (const one of [activity, hits]) {
        await one.flush()
        await one.drain({ all: true })
      }
    },
    async counted() {
      const { committed } = await activity.ledger()
      const counts = await hits.counts(threads)
      return {
        pageViews: committed,
        threadViews: [...counts.values()].reduce((sum, count) => sum + count, 0),
      }
    },
    close: () => Promise.all([activity.close(), hits.close()]),
  }
}
