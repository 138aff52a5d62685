import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counter, type Metric } from './metric.js'
import type { InstrumentCallback } from './open-telemetry.js'
import { type Measured, Telemetry } from './telemetry.js'

const part = (metric: Metric, value: number): Measured => ({
  metrics: [metric],
  readings: async () => [{ metric, samples: [{ labels: {}, value }] }],
})

const telemetry = () =>
  new Telemetry([part(counter('a', '1', 'A.'), 1), part(counter('b', '1', 'B.'), 2)])

test('the parts of an object have one page', async () => {
  assert.deepEqual((await telemetry().text()).match(/^\w.*$/gm), [
    'wide_cache_a_total 1',
    'wide_cache_b_total 2',
  ])
})

test('a meter observes all parts until the end, though it is shut down by then', async () => {
  const callbacks = new Set<InstrumentCallback>()
  const observed: unknown[] = []
  const meter = {
    createObservableCounter: (name: string) => ({ name }),
    createObservableGauge: () => ({}),
    addBatchObservableCallback: (callback: InstrumentCallback) => void callbacks.add(callback),
    removeBatchObservableCallback(callback: InstrumentCallback) {
      callbacks.delete(callback)
      throw new Error('shut down')
    },
  }
  const told = telemetry()
  told.instrument(meter)
  const values = {
    observe: (instrument: object, value: number) => observed.push(instrument, value),
  }
  for (const callback of callbacks) await callback(values)
  assert.deepEqual(observed, [{ name: 'wide_cache.a' }, 1, { name: 'wide_cache.b' }, 2])
  told.end()
  assert.equal(callbacks.size, 0)
})
