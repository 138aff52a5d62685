/** `hits.record(item, req)`: the viewer of the request, unless another one is given. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { BROWSER, TO_A_PAGE } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import type { HitParties, Hits } from './hits.js'
import { createHits } from './item-hits.js'
import type { HitsOptions } from './options.js'

function requestOf(remoteAddress: string, headers: Record<string, string> = {}): IncomingMessage {
  const req: unknown = {
    url: '/api',
    headers: { ...TO_A_PAGE, ...headers },
    socket: { remoteAddress },
  }
  return req as IncomingMessage
}

const [ANNA, BERT] = ['192.0.2.1', '192.0.2.2']

/** The hits of the item `a` after `views`, and what the log says. */
async function counted(
  views: (hits: Hits) => void,
  options: Partial<HitsOptions> = {},
): Promise<[hits: number, log: readonly string[]]> {
  const [database, cache, logger] = [sqlite(':memory:'), memory(), keptLog()]
  const hits = createHits({ name: 'r', database, cache, logger, collect: false, ...options })
  views(hits)
  await hits.flush()
  await hits.drain({ all: true })
  const count = await hits.count('a')
  await hits.close()
  await Promise.all([database.close(), cache.close()])
  return [count, logger.lines]
}

test('a viewer is an address and a user agent, and counts once', async () => {
  const [count, log] = await counted((hits) => {
    for (const address of [ANNA, BERT, ANNA]) hits.record('a', requestOf(address))
    hits.record('a', requestOf(ANNA, { 'user-agent': `${BROWSER} Other/1` }))
  })
  assert.equal(count, 3)
  assert.deepEqual(log, [])
})

test('a viewer who is given is the same from every address', async () => {
  const [count] = await counted((hits) => {
    for (const address of [ANNA, BERT]) hits.record('a', requestOf(address), { viewer: 7 })
    hits.record('a', { viewer: '7' })
    hits.record('a', requestOf(ANNA), { viewer: null })
  })
  assert.equal(count, 2)
})

test('bots count apart, and who asks for privacy counts every time', async () => {
  const views = (hits: Hits): void => {
    hits.record('a', requestOf(ANNA, { 'user-agent': 'Googlebot/2.1' }))
    for (let i = 0; i < 2; i++) {
      hits.record('a', requestOf(ANNA, { 'sec-gpc': '1' }), { viewer: 'anna' })
    }
    hits.record('a', requestOf(ANNA))
  }
  assert.deepEqual(await counted(views), [3, []])
  assert.deepEqual(await counted(views, { privacySignals: 'skip' }), [1, []])
  assert.deepEqual(await counted(views, { privacySignals: 'ignore' }), [2, []])
})

test("the author's own views do not count, though he asks for privacy", async () => {
  const [count] = await counted((hits) => {
    const own: HitParties[] = [{ viewer: 7, owner: '7' }, { owner: true }]
    for (const parties of own) {
      hits.record('a', requestOf(ANNA), parties)
      hits.record('a', requestOf(ANNA, { dnt: '1' }), parties)
    }
    hits.record('a', requestOf(ANNA), { viewer: 8, owner: 7 })
  })
  assert.equal(count, 1)
})

test('of wrong arguments the part that is right counts, and the log says so', async () => {
  const [count, log] = await counted((hits) => {
    hits.record('a', requestOf(ANNA), { viewer: {} as never, owner: [] as never })
    hits.record('', requestOf(ANNA))
    hits.record('a', requestOf(ANNA), null as never)
  })
  assert.equal(count, 1)
  assert.deepEqual(log, [
    'wide-cache: a hit has an object as "viewer", not a text or a number; ' +
      'the hit counts for the address of the request',
    'wide-cache: a hit has an object as "owner", not a text, a number or a boolean; ' +
      'the hit counts',
    'wide-cache: a hit has an empty text as "item", not a text of 1 to 255 bytes; ' +
      'the hit is not counted',
  ])
})

test('a rename and a deletion are of the hits of people and of bots', async () => {
  const database = sqlite(':memory:')
  const common = { cache: memory(), database, logger: keptLog() }
  const hits = createHits({ ...common, name: 'r', collect: false })
  hits.record('a', requestOf(ANNA))
  hits.record('a', requestOf(BERT, { 'user-agent': 'Googlebot/2.1' }))
  await hits.flush()
  await hits.drain({ all: true })
  const itemsIn = async (table: string) => {
    const { rows } = await database.query(`SELECT name, item FROM ${table} ORDER BY name`)
    return rows.map(({ name, item }) => `${String(name)}: ${String(item)}`)
  }
  const tables = ['hits_counts', 'hits_hours', 'hits_days']
  assert.equal(await hits.rename('a', 'b'), 1)
  for (const table of tables) assert.deepEqual(await itemsIn(table), ['r: b', 'r.bots: b'], table)
  assert.equal(await hits.delete('b'), 1)
  for (const table of tables) assert.deepEqual(await itemsIn(table), [], table)
  await hits.close()
  await database.close()
})
