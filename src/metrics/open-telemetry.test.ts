import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counter, gauge, type Reading } from './metric.js'
import {
  type Instrument,
  type InstrumentCallback,
  instrumentName,
  type InstrumentDescription,
  type MetricsMeter,
  observeBy,
} from './open-telemetry.js'

/** A meter that keeps what it is given. */
class KeptMeter implements MetricsMeter {
  readonly made: { type: string; name: string; options: InstrumentDescription | undefined }[] = []
  readonly callbacks = new Map<InstrumentCallback, Instrument[]>()

  createObservableCounter(name: string, options?: InstrumentDescription): Instrument {
    return this.#make('counter', name, options)
  }

  createObservableGauge(name: string, options?: InstrumentDescription): Instrument {
    return this.#make('gauge', name, options)
  }

  addBatchObservableCallback(callback: InstrumentCallback, instruments: Instrument[]): void {
    this.callbacks.set(callback, instruments)
  }

  removeBatchObservableCallback(callback: InstrumentCallback): void {
    this.callbacks.delete(callback)
  }

  async collect(): Promise<unknown[]> {
    const values: unknown[] = []
    for (const callback of this.callbacks.keys()) {
      await callback({
        observe: (instrument, value, labels) =>
          void values.push([this.made.indexOf(instrument as never), value, labels]),
      })
    }
    return values
  }

  #make(type: string, name: string, options: InstrumentDescription | undefined): Instrument {
    const instrument = { type, name, options }
    this.made.push(instrument)
    return instrument
  }
}

const METRICS = [
  counter('process_drain_seconds', 's', 'Seconds.'),
  gauge('process_outbox_bytes', 'By', 'Bytes.'),
  counter('lost', '{row}', 'Lost.'),
]

test('instruments have the names and units of OpenTelemetry', () => {
  const meter = new KeptMeter()
  observeBy(meter, METRICS, async () => [])
  assert.deepEqual(meter.made, [
    {
      type: 'counter',
      name: 'wide_cache.process.drain_seconds',
      options: { description: 'Seconds.', unit: 's' },
    },
    {
      type: 'gauge',
      name: 'wide_cache.process.outbox_bytes',
      options: { description: 'Bytes.', unit: 'By' },
    },
    { type: 'counter', name: 'wide_cache.lost', options: { description: 'Lost.', unit: '{row}' } },
  ])
  assert.deepEqual([...meter.callbacks.values()], [meter.made])
  assert.equal(instrumentName('wide_cache_lag_seconds'), 'wide_cache.lag_seconds')
})

test('one read serves a collection, until it ends', async () => {
  const meter = new KeptMeter()
  let reads = 0
  const samples = ['a', 'b'].map((name, value) => ({ labels: { name }, value }))
  const end = observeBy(meter, METRICS, async (): Promise<Reading[]> => {
    reads++
    return [
      { metric: METRICS[2]!, samples },
      { metric: gauge('of_nobody', '{row}', 'Not asked for.'), samples },
    ]
  })
  assert.deepEqual(await meter.collect(), [
    [2, 0, { name: 'a' }],
    [2, 1, { name: 'b' }],
  ])
  assert.equal(reads, 1)
  end()
  assert.deepEqual(await meter.collect(), [])
})

test('a meter that is shut down does not stop what closes', () => {
  const meter = new KeptMeter()
  const end = observeBy(meter, METRICS, async () => [])
  meter.removeBatchObservableCallback = () => {
    throw new Error('shut down')
  }
  end()
  assert.equal(meter.callbacks.size, 1)
})

test('what is no meter is refused by name', () => {
  for (const meter of [undefined, null, 7, {}, { createObservableCounter() {} }]) {
    assert.throws(() => observeBy(meter as never, METRICS, async () => []), {
      name: 'TypeError',
      message: /option "meter".*OpenTelemetry/,
    })
  }
})
