import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CAPACITY, type Constants, endsOf, needsOf, type Needs } from './model.js'
import { newest } from './harness/result.js'
import { calculated } from './scale/calculated.js'
import { constantsOf } from './scale/constants.js'
import {
  cacheWorkOf,
  framesOf,
  GRID,
  hit,
  largestCell,
  LIMITS,
  widthFor,
} from './scale/grid-model.js'
import {
  APPEND,
  CELL_BYTES,
  COLLECTOR_TIME,
  DATABASE_CPU,
  ROWS_PER_FRAME,
  ROWS_WRITTEN,
  SERVER,
  UNEVENNESS,
  USABLE,
  WEB,
  WIDE_CACHE,
} from './scale/metrics.js'

/** Round figures of about what was measured. */
const constants: Constants = {
  source: 'this test',
  rowBytes: 50,
  web: { visit: 10, frame: 150 },
  collector: { visit: 30, frame: 300 },
  database: { visit: 12, frame: 30 },
  rowsWritten: { visit: 1.3, frame: 2 },
  cacheOperation: 20,
  cacheCopiedByte: 5e-5,
  cacheUnevenness: 1.1,
  cacheUsableShare: 0.6,
}

const RATES = [1, 10, 100, 300, 1_000, 3_000, 10_000]
const PROCESSES = [1, 2, 10, 100, 333, 1_000, 4_000, 10_000]
const GROWING = [
  'visits',
  'grids',
  'cacheOperations',
  'cacheBytes',
  'cacheMemory',
  'servers',
  'sqlRows',
  'ledgerFrames',
  'databases',
] as const satisfies (keyof Needs)[]

describe('the model', () => {
  it('never asks for less when there are more processes', () => {
    for (const rate of RATES) {
      const needs = PROCESSES.map((processes) => needsOf({ processes, rate }, constants))
      for (const name of GROWING) {
        notFalling(
          needs.map((need) => need[name]),
          `${name} at ${rate}/s`,
        )
      }
    }
  })

  it('never asks for less SQL, memory and web processes when processes have more visits', () => {
    for (const processes of PROCESSES) {
      const needs = RATES.map((rate) => needsOf({ processes, rate }, constants))
      for (const name of [
        'visits',
        'grids',
        'cacheMemory',
        'sqlRows',
        'ledgerFrames',
        'databases',
        'outboxBytes',
        'webShare',
      ] as const) {
        notFalling(
          needs.map((need) => need[name]),
          `${name} with ${processes} processes`,
        )
      }
    }
  })

  it('asks for twice the servers, grids and databases for twice the processes, if rounded', () => {
    for (const processes of [10_000, 50_000, 100_000]) {
      const [one, two] = [
        needsOf({ processes, rate: 1_000 }, constants),
        needsOf({ processes: 2 * processes, rate: 1_000 }, constants),
      ]
      for (const name of ['servers', 'grids', 'databases'] as const) {
        assert.ok(
          Math.abs(two[name] - 2 * one[name]) <= 1 + 0.03 * two[name],
          `${name}: ${one[name]} and ${two[name]}`,
        )
      }
    }
  })

  it('is content with one of each and the default width on a small site', () => {
    const { servers, grids, databases, width, leastWidth } = needsOf(
      { processes: 10, rate: 100 },
      constants,
    )
    assert.deepEqual(
      { servers, grids, databases, width },
      { servers: 1, grids: 1, databases: 1, width: GRID.defaultWidth },
    )
    assert.ok(leastWidth <= GRID.defaultWidth)
  })

  it('holds what is a rate times a time', () => {
    const { outboxBytes, rowsPerFrame, sqlRows, webShare, ledgerFrames } = needsOf(
      { processes: 7, rate: 1_000 },
      constants,
    )
    assert.equal(rowsPerFrame, 51)
    assert.equal(ledgerFrames, 7_000 / 51)
    close(sqlRows, 7_000 * 1.3 + (7_000 / 51) * 2)
    close(webShare, (1_000 * 10 + (1_000 / 51) * 150) / 1e6)
    close(outboxBytes, 60 * (1_000 * 50 + (1_000 / 51) * (69 + 512)))
  })

  it('sends 16 visits in a frame, or those of 50 ms, or those of half a second', () => {
    const frames = [10, 100, 300, 1_000].map((rate) => needsOf({ processes: 1, rate }, constants))
    assert.deepEqual(
      frames.map(({ rowsPerFrame }) => rowsPerFrame),
      [6, 16, 16, 51],
    )
  })

  it('names the ends in the order in which they come, and means what it says', () => {
    const ends = endsOf(1_000, constants)
    notFalling(
      ends.map(({ visits }) => visits),
      'ends',
    )
    const one = ends.find(({ resource }) => resource === 'one memcached server')!.visits / 1_000
    assert.equal(needsOf({ processes: one, rate: 1_000 }, constants).servers, 1)
    assert.ok(needsOf({ processes: one + 10, rate: 1_000 }, constants).servers > 1)
    const lease = ends.find(({ resource }) => resource.includes('lease'))!.visits
    assert.equal(needsOf({ processes: Math.floor(lease / 1_000), rate: 1_000 }, constants).grids, 1)
    assert.equal(
      needsOf({ processes: Math.ceil(lease / 1_000) + 1, rate: 1_000 }, constants).grids,
      2,
    )
    close(lease, (1e6 * CAPACITY.used) / (30 + 300 / 51))
  })
})

describe('the width', () => {
  it('is the least with which no cell outgrows an item of memcached', () => {
    for (const rate of RATES) {
      for (const processes of PROCESSES) {
        const { perSecond, bytes } = framesOf(rate, constants.rowBytes)
        const frames = processes * perSecond * GRID.layerSeconds
        const width = widthFor(frames, bytes)
        if (width === Infinity) continue
        assert.ok(largestCell(frames, bytes, width) <= LIMITS.cellBytes)
        if (width > 1) assert.ok(largestCell(frames, bytes, width - 1) > LIMITS.cellBytes)
      }
    }
  })

  it('is enough in each grid of any site', () => {
    for (const rate of RATES) {
      for (const processes of PROCESSES) {
        const { width, leastWidth, cellBytes } = needsOf({ processes, rate }, constants)
        assert.ok(leastWidth <= width && width <= LIMITS.width && cellBytes <= LIMITS.cellBytes)
      }
    }
  })

  it('bounds the fullest of many cells as they fall by chance', () => {
    // A random sequence of its own, the same each time (Park and Miller).
    let seed = 1
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    for (const [frames, width] of [
      [30, 15],
      [600, 15],
      [5_000, 64],
    ] as const) {
      for (let layer = 0; layer < 200; layer++) {
        const cells = Array.from({ length: width }, () => 0)
        for (let i = 0; i < frames; i++) cells[Math.floor(random() * width)]!++
        assert.ok(Math.max(...cells) <= largestCell(frames, 1, width))
      }
    }
  })
})

describe("the cache's work", () => {
  const layer = {
    frames: 60,
    frameBytes: 2_612,
    writers: 1,
    width: 15,
    keyBytes: 42,
  }

  it('counts an append and a get a frame, two for a new cell, a get a column, marks, looks', () => {
    for (const [writers, some] of [
      [1, 1],
      [8, 7.99],
    ] as const) {
      const { operations, cells, looks } = cacheWorkOf({ ...layer, writers, width: 1 })
      // A collector comes 1.5 s after it may, on the average.
      assert.ok(Math.abs(looks - some * 1.5) < 0.03, `${looks}`)
      assert.equal(cells, 1)
      assert.equal(operations, 2 * layer.frames + 1 + 1 + 16 + 1 + 2 + looks)
    }
  })

  it('has a hint that names each writer, read by each', () => {
    const bytesOf = (writers: number) => cacheWorkOf({ ...layer, frames: 1e6, writers }).bytes
    const twice = (bytesOf(1_000) - bytesOf(1)) / (bytesOf(500) - bytesOf(1))
    assert.ok(twice > 3.9 && twice < 4.1, `${twice}`)
  })

  it('of a layer without frames is a get a column, the watermark and the hint', () => {
    assert.equal(cacheWorkOf({ ...layer, frames: 0 }).operations, 33)
  })

  it('carries each byte in and out once, and that of a new cell twice in', () => {
    const { bytes, cells } = cacheWorkOf(layer)
    const values = (2 * layer.frames + cells) * layer.frameBytes
    assert.ok(bytes > values && bytes < values * 1.1)
  })

  it('grows with the width, while what is copied falls', () => {
    const works = [1, 4, 15, 64].map((width) => cacheWorkOf({ ...layer, width }))
    notFalling(
      works.map(({ operations }) => operations),
      'operations',
    )
    notFalling(
      works.map(({ copiedBytes }) => -copiedBytes),
      'copied',
    )
  })

  it('hits as many cells as chance does', () => {
    assert.equal(hit(15, 0), 0)
    assert.equal(hit(1, 5), 1)
    close(hit(2, 2), 1.5)
    close(hit(15, 1), 1)
  })
})

describe('the constants', () => {
  const measure = (
    contender: string,
    setting: string,
    { metric }: { metric: string },
    value: number,
  ) => ({
    contender,
    setting,
    metric,
    better: null,
    samples: [value],
    median: value,
    low: value,
    high: value,
  })
  const measures = [
    ...[
      ['large', 100],
      ['small', 2],
      ['middle', 10],
    ].map(([setting, value]) =>
      measure(WIDE_CACHE, String(setting), ROWS_PER_FRAME, Number(value)),
    ),
    ...[WEB, COLLECTOR_TIME, DATABASE_CPU, ROWS_WRITTEN].flatMap((metric) =>
      [
        ['large', 100],
        ['middle', 10],
        ['small', 2],
      ].map(([setting, visits]) =>
        measure(WIDE_CACHE, String(setting), metric, 10 + 300 / Number(visits)),
      ),
    ),
    measure(WIDE_CACHE, 'large', UNEVENNESS, 1),
    measure(WIDE_CACHE, 'small', UNEVENNESS, 1.2),
    ...CELL_BYTES.map((size) => measure(SERVER, String(size), APPEND, 20 + (size / 2) * 1e-4)),
    measure(SERVER, 'small server', USABLE, 0.6),
  ]

  it('are those that explain what was measured', () => {
    const found = constantsOf({ date: 'then', mode: 'normal', measures })
    close(found.web.visit, 10)
    close(found.web.frame, 300)
    close(found.cacheOperation, 20)
    close(found.cacheCopiedByte, 1e-4)
    assert.equal(found.cacheUnevenness, 1.2)
    assert.equal(found.source, 'bench/results/scale.json of then (normal)')
  })

  it('are refused where something has not been measured, with what to do', () => {
    const without = measures.filter(({ metric }) => metric !== APPEND.metric)
    assert.throws(
      () => constantsOf({ date: 'then', mode: 'normal', measures: without }),
      /memcached CPU µs\/append.*npm run bench -- scale/,
    )
    assert.throws(
      () => calculated((part) => newest(part, new URL('nowhere/', import.meta.url))),
      /There is no result of "scale", .*: run `npm run bench -- scale` first/,
    )
  })
})

function notFalling(values: readonly number[], what: string): void {
  for (let at = 1; at < values.length; at++) {
    assert.ok(
      values[at]! >= values[at - 1]! * (1 - 1e-12) - (values[at]! < 0 ? 1e-6 : 0),
      `${what} falls: ${values.join(', ')}`,
    )
  }
}

function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.abs(expected), `${actual}, not ${expected}`)
}
