/** Requests reach a server at most as often as the docstring of each shared helper says. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Environment } from '../../src/support/environment.js'
import { ManualClock } from '../../src/support/manual-clock.fixture.js'
import { CountingServer, FAILURES, type Failure } from './failures.js'
import { HELPERS, type Helper } from './helpers.js'

const ITEMS = ['a', 'b', 'c']
/** Longer than any helper retries. */
const PATIENCE_MS = 60_000

/** Returns how often the server was asked for each item. */
async function askedFor(
  { use }: Helper,
  failing: CountingServer['failing'],
): Promise<ReadonlyMap<string, number>> {
  const server = new CountingServer()
  server.failing = failing
  const clock = new ManualClock(0)
  // Waits are drawn as short as they get, so most tries fit into the time.
  const environment: Environment = { clock, random: () => 0, newId: () => Buffer.alloc(16) }
  let isOver = false
  const used = use(ITEMS, server, environment).finally(() => (isOver = true))
  for (let ms = 0; !isOver; ms += 10) {
    assert(ms < PATIENCE_MS, 'the helper ends')
    await clock.advance(10)
  }
  await used
  return server.asked
}

const cases = (failure: Failure): [title: string, times: number][] => [
  [`once ${failure.name}`, 1],
  [`twice ${failure.name}`, 2],
  [`always ${failure.name}`, Infinity],
]

for (const [name, helper] of Object.entries(HELPERS)) {
  test(`${name} asks no more often than it says, whatever the error`, async () => {
    const healthy = await askedFor(helper, undefined)
    assert(healthy.size >= ITEMS.length)
    for (const [item, times] of healthy) assert.equal(times, 1, `${item}, without a failure`)
    for (const failure of FAILURES) {
      const most = helper.most(failure)
      for (const [title, times] of cases(failure)) {
        const count = Math.max(...(await askedFor(helper, { failure, times })).values())
        assert(count <= most, `${title}: asks ${count} times for an item, and not ${most}`)
        if (times === Infinity) assert.equal(count, most, `${title}: what the table says`)
      }
    }
  })
}

/** Files of src/connections/ that pass on no request of a caller. */
const OTHERS = ['connections', 'error-metrics', 'mark-list', 'namespace', 'warn-failure']

test('each helper of src/connections/ is in the table', () => {
  const table = readFileSync(new URL('helpers.ts', import.meta.url), 'utf8')
  const files = readdirSync(new URL('../../src/connections/', import.meta.url))
    .filter((file) => file.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(file))
    .map((file) => file.replace(/\.ts$/, ''))
  const missing = files.filter(
    (file) => !OTHERS.includes(file) && !table.includes(`/connections/${file}.js'`),
  )
  assert.deepEqual(missing, [])
})
