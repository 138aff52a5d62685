/** Every public read has questions, so that one that is new is asked whether its key is right. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import * as map from '../../src/collision-free-map/index.js'
import * as counting from '../../src/counters/index.js'
import * as queue from '../../src/export-queue/index.js'
import * as root from '../../src/index.js'
import * as sequence from '../../src/sequence/index.js'
import { activity, dashboard, hits } from './questions.js'
import { Site } from './site.js'

/** All that is public. */
const wideCache = { ...root, ...counting, ...sequence, ...map, ...queue }

const site = new Site(Date.UTC(2026, 4, 20, 12, 30))
after(() => site.close())

/**
 * Methods that are no reads of figures, and reads whose answer has neither arguments nor a place in
 * the cache.
 */
const OTHERS: Readonly<Record<string, string>> = {
  createActivity: 'live ledger metrics health middleware router dashboard record note',
  createHits: 'ledger metrics health middleware router record delete rename firstDay timeZone',
  WideCache: 'read ledger metrics health append',
  ShardedCounter: 'increment increaseShards',
  GlobalCounter: 'increment',
  Sequence: 'next',
  CollisionFreeMap: 'get update parked process changeBuckets metrics',
  ExportQueue: 'add process changeBuckets metrics',
}
const OF_ALL = ['close', 'migrate', 'flush', 'drain', 'instrument', 'constructor']

test('every public read has its questions', async () => {
  const objects: Record<string, object> = {
    createActivity: site.activity(),
    createHits: site.hits({ name: 'any' }),
  }
  for (const [name, value] of Object.entries(wideCache)) {
    if (typeof value !== 'function') continue
    const { prototype } = value as { prototype?: object }
    if (prototype && 'close' in prototype) objects[name] = prototype
  }
  const asked: Record<string, readonly string[]> = {
    createActivity: [...activity.plain, ...Object.keys(activity.questions)],
    createHits: Object.keys(hits.questions),
    ShardedCounter: ['get'],
    GlobalCounter: ['get'],
  }
  for (const [name, object] of Object.entries(objects)) {
    const known = [...(asked[name] ?? []), ...(OTHERS[name] ?? '').split(' ')]
    const unknown = methodsOf(object).filter((one) => ![...known, ...OF_ALL].includes(one))
    assert.deepEqual(unknown, [], `${name}: a read has questions, or is among OTHERS`)
  }
  const factories = Object.keys(wideCache).filter((name) => name.startsWith('create'))
  assert.deepEqual(
    [...factories, ...Object.keys(OTHERS)].filter((name) => !objects[name]),
    [],
  )
})

test('every path of the dashboard that has parameters has its questions', async () => {
  const source = readFileSync(new URL('../../src/dashboard/router.ts', import.meta.url), 'utf8')
  const tables = Array.from(source.matchAll(/ (\w+): \w+Table,/g), ([, name]) => name)
  const paths = [
    ...Array.from(source.matchAll(/routes\.set\('([^']+)'/g), ([, path = '']) => path),
    ...tables.flatMap((name) => [`/${name}.json`, `/${name}.csv`]),
  ]
  assert(paths.includes('/top.csv') && paths.length > 10, paths.join(' '))
  const ask = dashboard.open(site, site.cache())
  for (const path of paths) {
    const { status } = (await ask(path, { unknown: 1 })) as { status: number }
    assert.equal(path in dashboard.questions, status === 400, path)
  }
})

/** The names of an object's methods, those of its prototypes among them. */
function methodsOf(object: object): string[] {
  const names: string[] = []
  for (let level = object; level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (typeof value === 'function') names.push(name)
    }
  }
  return names
}
