/**
 * `CollisionFreeMap` beside transactions that update in place: documents are written together with
 * the counts of their words, a few of which are in nearly every document. In the map's time is the
 * processing of the last update.
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/index.js'
import { CollisionFreeMap } from '../../src/collision-free-map/index.js'
import type { Bench } from '../harness/part.js'
import { start } from '../peers/counts-in-place.js'
import { type Contender, queueing, type Race } from './race.js'
import { more } from '../harness/samples.js'

export const MAP = 'CollisionFreeMap'
export const IN_PLACE = {
  byWord: 'in place, a statement a word',
  sorted: 'in place, a statement a word, sorted',
  one: 'in place, one sorted statement',
}
/** Added to the names of those whose transactions also do something else, such as a request. */
export const WORKING = ', 20 ms of other work'
/** Number of documents written at once. */
export const WRITERS = 32

/** A connection for each of 32 writers, and two for the processor. */
const CONNECTIONS = WRITERS + 2
const WORK_MS = 20
const WORDS_A_DOCUMENT = 40
const VOCABULARY = 2_000
/** One processor works here; every bucket is a transaction. */
const BUCKETS = 16

/** A program that writes documents, and whose word counts and documents can be read. */
interface Site {
  write(body: string, counts: ReadonlyMap<string, number>, until: number): Promise<boolean>
  /** Brings some of what is queued to the counts; how much. */
  process?(): Promise<number>
  bodies(): Promise<readonly string[]>
  counts(): Promise<ReadonlyMap<string, number>>
  close(): Promise<unknown>
}

export async function wordCount(bench: Bench, mysqlUrl: string): Promise<Race> {
  const inPlace = (name: string, way: string, work = NO_WORK): Promise<Site> =>
    start({ mysqlUrl, connections: CONNECTIONS, way, name, work })
  const work = (): Promise<unknown> => delay(WORK_MS)
  const sites = {
    byWord: await inPlace('by_word', 'word by word'),
    map: await throughMap(mysqlUrl, 'map', NO_WORK),
    sorted: await inPlace('sorted', 'word by word, sorted'),
    one: await inPlace('one_statement', 'one statement'),
    working: await inPlace('working', 'one statement', work),
    workingMap: await throughMap(mysqlUrl, 'working_map', work),
  }
  bench.after(() => Promise.all(Object.values(sites).map((site) => site.close())))
  return {
    name: 'CollisionFreeMap',
    metric: more('documents/s'),
    contenders: [
      contender(IN_PLACE.byWord, sites.byWord),
      contender(MAP, sites.map),
      contender(IN_PLACE.sorted, sites.sorted, [WRITERS]),
      contender(IN_PLACE.one, sites.one, [WRITERS]),
      contender(IN_PLACE.one + WORKING, sites.working, [WRITERS]),
      contender(MAP + WORKING, sites.workingMap, [WRITERS]),
    ],
    async check() {
      for (const site of Object.values(sites)) {
        const words = (await site.bodies()).flatMap((body) => body.split(' '))
        assert.deepEqual(await site.counts(), counted(words))
      }
    },
  }
}

function contender(name: string, site: Site, only?: readonly number[]): Contender {
  return {
    name,
    ...(only && { callers: only }),
    async run(callers, ms) {
      const until = performance.now() + ms
      let documents = 0
      // Whoever is still in a deadlock at the end is not waited for: what was not written does not
      // count.
      const write = async (): Promise<void> => {
        const words = someWords()
        if (await site.write(words.join(' '), counted(words), until)) documents++
      }
      const process = async (): Promise<number> => (await site.process?.()) ?? 0
      return queueing(callers, ms, write, process, () => documents)
    },
  }
}

type Work = () => Promise<unknown>

const NO_WORK: Work = async () => undefined

async function throughMap(mysqlUrl: string, name: string, work: Work): Promise<Site> {
  const database = mysql(`${mysqlUrl}?connectionLimit=${CONNECTIONS}`)
  const map = new CollisionFreeMap<string, number>({
    database,
    name,
    buckets: BUCKETS,
    every: false,
    combine: (_, current = 0, updates) => updates.reduce((a, b) => a + b, current),
  })
  await database.migrate()
  await map.process()
  await database.query(
    `CREATE TABLE ${name}_documents (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, body ` +
      'VARCHAR(2000) NOT NULL) ENGINE=InnoDB',
  )
  return {
    async write(body, counts) {
      await database.transaction(async (tx) => {
        await tx.query(`INSERT INTO ${name}_documents (body) VALUES (?)`, [body])
        await map.update(counts, tx)
        await work()
      })
      return true
    },
    process: () => map.process(),
    async bodies() {
      const { rows } = await database.query(`SELECT body FROM ${name}_documents`)
      return rows.map(({ body }) => String(body))
    },
    async counts() {
      const { rows } = await database.query(
        'SELECT map_key, map_value FROM collision_free_map_values WHERE map = ?',
        [name],
      )
      return new Map(
        rows.map((row) => [JSON.parse(String(row['map_key'])), Number(row['map_value'])]),
      )
    },
    close: () => database.close(),
  }
}

/** Few words are in nearly every document, most in few. */
function someWords(): string[] {
  return Array.from(
    { length: WORDS_A_DOCUMENT },
    () => `word${Math.floor(Math.random() ** 3 * VOCABULARY)}`,
  )
}

function counted(words: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
