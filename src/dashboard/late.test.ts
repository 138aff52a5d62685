import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { BurstLogger, SILENT } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { InventedSource } from './invented-source.fixture.js'
import { dashboardRouter } from './router.js'

const NOW = Date.UTC(2026, 10, 30, 12)
/** More turns of the event loop than any answer takes, once its figures are there. */
const TURNS = 50

const PATHS = [
  '/',
  '/now.json',
  '/operation.json',
  '/hits.json',
  '/figures.json',
  '/figures.json?dimension=page',
  '/item.json?dimension=page&value=/',
  '/times.json',
  '/history.json',
  '/history.csv',
  '/top.json?dimension=page',
  '/top.csv?dimension=page',
  '/shown.json',
  '/shown.csv',
  // Wrong queries.
  '/item.json',
  '/history.csv?x=1',
  '/figures.json?range=never',
  '/top.json',
]

/** `object`, whose methods, and those of its fields, answer once `gate` is open. */
function behind<T extends object>(object: T, gate: Promise<void>): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'calendar') return behind(value as object, gate)
      if (typeof value !== 'function' || name === 'health' || name === 'advice') return value
      return async (...args: unknown[]) => {
        await gate
        return Reflect.apply(value, target, args) as unknown
      }
    },
  })
}

for (const waits of ['authorize', 'figures'] as const) {
  for (const verdict of [true, 'figures', false] as const) {
    if (waits === 'figures' && verdict === false) continue
    test(`a site that answers before ${waits}: ${verdict} does is left alone`, async () => {
      let open = (): void => undefined
      let gate = new Promise<void>((resolve) => (open = resolve))
      const clock = new ManualClock(NOW)
      const source = new InventedSource(clock.now)
      const authorize = async () => {
        if (waits === 'authorize') await gate
        return verdict
      }
      // What a handler rejects with goes to the site's error handler.
      const errors: unknown[] = []
      const server = createServer((req, res) => {
        gate = new Promise((resolve) => (open = resolve))
        const asked = waits === 'figures' ? behind(source, gate) : source
        const logger = new BurstLogger(SILENT, clock.elapsed)
        dashboardRouter(
          asked,
          { authorize },
          logger,
          clock,
        )(req, res, (error) => {
          errors.push([req.url, error])
        })
        void turns().then(() => {
          if (!res.headersSent) res.writeHead(503).end('too late')
          open()
        })
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      let late = 0
      for (const path of PATHS) {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`)
        if ((await answer.text()) === 'too late') late++
        await turns()
      }
      server.closeAllConnections()
      server.close()
      assert.deepEqual(errors, [])
      // The page, and a refusal, wait for no figures.
      const atOnce = waits === 'authorize' ? 0 : verdict === true ? 1 : 2
      assert.equal(late, PATHS.length - atOnce)
    })
  }
}

async function turns(): Promise<void> {
  for (let n = 0; n < TURNS; n++) await turn()
}
