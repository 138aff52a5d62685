import assert from 'node:assert/strict'
import { test } from 'node:test'
import express from 'express'
import request from 'supertest'
import { BurstLogger, SILENT } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { InventedSource } from './invented-source.fixture.js'
import { dashboardRouter } from './router.js'

const NOW = Date.UTC(2026, 10, 30, 12)

/** Methods of the source that all tabs share an answer of, by path, and for how many ms. */
const SHARED = [
  ['/now.json', 'overview', 1_000],
  ['/now.json', 'live', 1_000],
  ['/now.json', 'ledger', 5_000],
  ['/operation.json', 'certificates', 60_000],
] as const

for (const [path, method, lifetimeMs] of SHARED) {
  test(`the source is asked for its ${method} once in ${lifetimeMs} ms, by all tabs`, async (t) => {
    const clock = new ManualClock(NOW)
    const source = new InventedSource(clock.now)
    const asked = t.mock.method(source, method)
    const logger = new BurstLogger(SILENT, clock.elapsed)
    const app = express().use(dashboardRouter(source, { authorize: () => true }, logger, clock))
    const ask = () => request(app).get(path).expect(200)
    await Promise.all([ask(), ask()])
    await ask()
    await clock.advance(lifetimeMs - 1)
    await ask()
    assert.equal(asked.mock.callCount(), 1)
    await clock.advance(1)
    await Promise.all([ask(), ask()])
    assert.equal(asked.mock.callCount(), 2)
  })
}
