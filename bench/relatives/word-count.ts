/**
 * Documents a second that are written together with the counts of their words, by 32 writers that share hot
 * words, on MariaDB: `node --import tsx bench/relatives/word-count.ts`. In place, the transaction of a document
 * updates the counts itself and is begun anew after a deadlock; with the CollisionFreeMap it queues the updates,
 * and the time includes processing to the last one. Each way's counts are compared with a recount.
 */
import assert from 'node:assert/strict'
import { CollisionFreeMap } from '../../src/collision-free-map/collision-free-map.js'
import { type Database, DatabaseError, type Transaction } from '../../src/database/database.js'
import { upsert } from '../../src/database/dialect.js'
import { mysql } from '../../src/database/mysql.js'
import { startMariadb } from '../../test/servers/mariadb.js'

const WRITERS = 32
const SECONDS = 4
const WORDS_A_DOCUMENT = 40
const VOCABULARY = 2_000
/** One processor works here; every bucket is a transaction. */
const BUCKETS = 16

/** How a document's words come to the counts; `finish` brings the rest and says the counts. */
interface Way {
  count(words: ReadonlyMap<string, number>, tx: Transaction): Promise<void>
  besides?(): Promise<unknown>
  counts(): Promise<Map<string, number>>
}

const server = await startMariadb(['--innodb-flush-log-at-trx-commit=1', '--innodb-buffer-pool-size=256M'])
const rates = new Map<string, number>()
try {
  await measure('in place, a statement a word', (database) => inPlace(database, async (words, tx) => {
    for (const [word, n] of words) await tx.query(upsert('mysql', 'counts', ['word'], ['word', 'n'], { n: 'add' }, 1), [word, n])
  }))
  await measure('in place, a statement a word, words sorted', (database) => inPlace(database, async (words, tx) => {
    for (const [word, n] of sortedWords(words)) await tx.query(upsert('mysql', 'counts', ['word'], ['word', 'n'], { n: 'add' }, 1), [word, n])
  }))
  await measure('in place, one statement, words sorted', (database) => inPlace(database, async (words, tx) => {
    const sorted = sortedWords(words)
    await tx.query(upsert('mysql', 'counts', ['word'], ['word', 'n'], { n: 'add' }, sorted.length), sorted.flat())
  }))
  await measure('CollisionFreeMap, processing included', throughMap)
} finally {
  await server.stop()
}
const ours = rates.get('CollisionFreeMap, processing included') ?? 0
for (const [name, rate] of rates) console.log(`${(ours / rate).toFixed(1).padStart(8)} times ${name}`)

async function measure(name: string, open: (database: Database) => Promise<Way>): Promise<void> {
  const schema = `bench_${rates.size}`
  await server.createDatabase(schema)
  const database = mysql(`${server.url(schema)}?connectionLimit=${WRITERS + 2}`)
  try {
    await database.query('CREATE TABLE documents (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, body VARCHAR(2000) NOT NULL) ENGINE=InnoDB')
    const way = await open(database)
    const began = performance.now()
    const until = began + SECONDS * 1000
    let [documents, retries] = [0, 0]
    let writing = true
    const besides = (async () => {
      while (writing) await way.besides?.()
    })
    const writers = Promise.all(Array.from({ length: WRITERS }, async () => {
      while (performance.now() < until) {
        retries += await write(database, way, someWords())
        documents++
      }
    }))
    const background = way.besides ? besides() : undefined
    await writers
    writing = false
    await background
    await way.besides?.()
    const seconds = (performance.now() - began) / 1000
    assert.deepEqual(await way.counts(), await recount(database))
    rates.set(name, documents / seconds)
    console.log(`${(documents / seconds).toFixed(0).padStart(8)} documents/s  ${name} (${documents} in ${seconds.toFixed(1)} s, ${retries} begun anew)`)
  } finally {
    await database.close()
  }
}

/** Writes a document; returns how often a deadlock or lock wait has undone it. */
async function write(database: Database, way: Way, words: readonly string[]): Promise<number> {
  for (let retries = 0; ; retries++) {
    try {
      await database.transaction(async (tx) => {
        await tx.query('INSERT INTO documents (body) VALUES (?)', [words.join(' ')])
        await way.count(counted(words), tx)
      })
      return retries
    } catch (error) {
      if (!(error instanceof DatabaseError && error.kind === 'lock')) throw error
    }
  }
}

async function inPlace(database: Database, count: Way['count']): Promise<Way> {
  await database.query('CREATE TABLE counts (word VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB')
  return { count, counts: async () => new Map((await database.query('SELECT word, n FROM counts')).rows.map(({ word, n }) => [String(word), Number(n)])) }
}

async function throughMap(database: Database): Promise<Way> {
  const map = new CollisionFreeMap<string, number>({ database, id: 'words', buckets: BUCKETS, combine: (_, current = 0, updates) => updates.reduce((a, b) => a + b, current) })
  await map.process()
  return {
    count: (words, tx) => map.update(words, tx),
    besides: () => map.process(),
    async counts() {
      const { rows } = await database.query('SELECT map_key, map_value FROM collision_free_map_values')
      return new Map(rows.map((row) => [JSON.parse(String(row['map_key'])) as string, JSON.parse(String(row['map_value'])) as number]))
    },
  }
}

/** In one order of locks there are no deadlocks, but still one document at a time for each hot word. */
function sortedWords(words: ReadonlyMap<string, number>): [string, number][] {
  return [...words].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Few words are in nearly every document, most in few. */
function someWords(): string[] {
  return Array.from({ length: WORDS_A_DOCUMENT }, () => `word${Math.floor(Math.random() ** 3 * VOCABULARY)}`)
}

function counted(words: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

async function recount(database: Database): Promise<Map<string, number>> {
  const { rows } = await database.query('SELECT body FROM documents')
  return counted(rows.flatMap(({ body }) => String(body).split(' ')))
}
