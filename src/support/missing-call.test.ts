import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../activity/site-activity.js'
import { createHits } from '../hits/item-hits.js'
import { expresses, serving } from './http.fixture.js'

for (const [name, express] of expresses) {
  test(`${name}: a method that is mounted without its parentheses says so`, async () => {
    const own = { cache: 'memory:', database: 'sqlite::memory:', collect: false } as const
    const activity = createActivity(own)
    const hits = createHits({ name: 'items', ...own })
    const mounted = {
      'activity.middleware': activity.middleware,
      'activity.router': activity.router,
      'activity.dashboard': activity.dashboard,
      'hits.middleware': hits.middleware,
      'hits.router': hits.router,
    }
    for (const [call, method] of Object.entries(mounted)) {
      const app = express()
      const errors: Error[] = []
      app.use(method as never)
      app.use(((error: Error, _req: unknown, res: { end(): void }, _next: unknown) => {
        errors.push(error)
        res.end()
      }) as never)
      await serving(app, async (port) => void (await fetch(`http://127.0.0.1:${port}/`)))
      assert(
        errors[0]?.message.includes(`${call} was given to Express itself; give what it returns`),
        String(errors[0]),
      )
    }
    await Promise.all([activity.close(), hits.close()])
  })
}
