/**
 * The example that counts views in the way of forum programs and in ours: both count the same, and
 * a killed process of ours loses its open frame at most. Needs `npm run build` before. Run by
 * `npm run test:all`, and by name.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startPostgres } from '../servers/postgres.js'
import { startRedis } from '../servers/redis.js'
import { withoutSlowness } from '../slow-machine.js'

const MAIN = fileURLToPath(new URL('../../examples/view-counts/main.js', import.meta.url))
const VIEWS = 1_000
const LIMIT_MS = 500_000

interface Result {
  readonly cost: {
    readonly answered: number
    readonly pageViews: number
    readonly threadViews: number
    readonly redisCommandsAView: number
    readonly statementsAView: number
  }
  readonly loss: {
    readonly answered: number
    readonly answeredInLastSecond: number
    readonly pageViewsLost: number
    readonly threadViewsLost: number
  }
}

test('both ways count the same, and ours loses at most its open frame', async (context) => {
  // Servers of their own, whose commands are counted.
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  context.after(() => Promise.all([redis.stop(), postgres.stop()]))
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [MAIN, '--views', String(VIEWS), '--json'],
    {
      env: { PATH: process.env['PATH'], REDIS_URL: redis.url, DATABASE_URL: postgres.url() },
      timeout: LIMIT_MS,
    },
  )
  assert.equal(withoutSlowness(stderr), '')
  const { usual, ours } = JSON.parse(stdout) as { usual: Result; ours: Result }

  // The views of a viewer of one thread are a round apart, so neither way counts one twice.
  const threadViews = ours.cost.threadViews
  assert(threadViews < VIEWS, String(threadViews))
  for (const { cost, loss } of [usual, ours]) {
    assert.deepEqual(
      [cost.answered, cost.pageViews, cost.threadViews, loss.answered],
      [VIEWS, VIEWS, threadViews, VIEWS],
    )
    assert(loss.pageViewsLost >= 0 && loss.threadViewsLost >= 0, JSON.stringify(loss))
  }
  // Each view reads a field, reads and writes a session. One that counts also raises three numbers.
  const counted = threadViews / VIEWS
  assert(usual.cost.redisCommandsAView >= 3 + 3 * counted, JSON.stringify(usual.cost))

  const { answeredInLastSecond, pageViewsLost, threadViewsLost } = ours.loss
  for (const lost of [pageViewsLost, threadViewsLost]) {
    assert(lost <= answeredInLastSecond && lost < VIEWS, JSON.stringify(ours.loss))
  }
})
