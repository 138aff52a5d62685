// The same of what wide-cache would have recorded: its rule of what counts, its hash of a visitor,
// its rows. It has no ledger: a killed process loses ten seconds, and nothing says what is lost.
import { memory } from 'wide-cache'
import { requestViews } from '../../dist/activity/middleware.js'
import { activitySettings } from '../../dist/activity/options.js'
import { UTC } from '../../dist/support/calendar.js'
import { systemEnvironment } from '../../dist/support/environment.js'
import { BurstLogger, SILENT } from '../../dist/support/logger.js'
import { Pseudonymizer } from '../../dist/visitors/pseudonymizer.js'
import { openBuffer } from './buffer.js'

export async function start({ mysqlUrl }) {
  const { push, flush, count, close } = await openBuffer(mysqlUrl)
  const { clock } = systemEnvironment
  const logger = new BurstLogger(SILENT, () => clock.elapsed())
  const cache = memory()
  const visitors = new Pseudonymizer({
    calendar: { current: UTC, read: async () => UTC },
    cache,
    secret: async () => Buffer.alloc(32),
    name: 'activity',
    clock,
    logger,
    forward: (time, visitor, { page }) => push({ time, visitor, page }),
  })
  const views = requestViews(
    activitySettings({ cache, database: 'sqlite::memory:' }),
    (view, identity, userAgent) => visitors.pseudonymize(view, identity, userAgent),
    logger,
  )
  return { use: (app) => app.use(views.middleware()), finish: flush, count, close }
}
