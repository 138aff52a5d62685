/**
 * The word count of the Fluo recipe: documents change, the counts of their words follow through a
 * CollisionFreeMap, and a table in another database is kept up by an ExportQueue.
 */
import { CollisionFreeMap } from '../../src/collision-free-map/collision-free-map.js'
import { Connections } from '../../src/connections/connections.js'
import type { PreparedDatabase } from '../../src/connections/prepared-database.js'
import type { Database, Transaction } from '../../src/database/database.js'
import { forUpdate } from '../../src/database/dialect.js'
import { table } from '../../src/database/table.js'
import { type ExportEntry, ExportQueue } from '../../src/export-queue/export-queue.js'
import { systemEnvironment } from '../../src/support/environment.js'

const DOCUMENTS = table('documents', ['id'], 'body')
const EXTERNAL_COUNTS = table('external_counts', ['word'], 'n', 'version')

export class WordCount {
  readonly #connections = new Connections('WordCount', 'words', systemEnvironment)
  readonly #own: PreparedDatabase
  readonly #external: PreparedDatabase
  readonly counts: CollisionFreeMap<string, number>
  readonly exports: ExportQueue<string, number>

  constructor(database: string, external: string) {
    this.#own = this.#connections.openDatabase(database, ['collision-free-map'])
    this.#external = this.#connections.openDatabase(external, ['collision-free-map'])
    this.exports = new ExportQueue({
      database: this.#own.database,
      name: 'words',
      every: false,
      exporter: (entries) => this.#receive(entries),
    })
    this.counts = new CollisionFreeMap<string, number>({
      database: this.#own.database,
      name: 'words',
      every: false,
      combine: (_, current = 0, updates) => updates.reduce((a, b) => a + b, current) || undefined,
      onUpdate: async (changes, tx) => {
        for (const { key, newValue = 0 } of changes) await this.exports.add(key, newValue, tx)
      },
    })
  }

  get database(): Database {
    return this.#own.database
  }

  get external(): Database {
    return this.#external.database
  }

  async create(): Promise<void> {
    await Promise.all([this.#own.migrate(), this.#external.migrate()])
    await this.database.query(
      'CREATE TABLE documents (id INTEGER NOT NULL PRIMARY KEY, body VARCHAR(5000) NOT NULL)',
    )
    await this.external.query(
      'CREATE TABLE external_counts (word VARCHAR(50) NOT NULL PRIMARY KEY, n BIGINT NOT ' +
        'NULL, version BIGINT NOT NULL)',
    )
  }

  /** Replaces a document; the counts follow what has changed in it. */
  async write(id: number, body: string): Promise<void> {
    await this.#own.transaction(async (tx) => {
      // Locks the row, and makes it if there is none.
      await DOCUMENTS.upsert(tx, [[id, '']])
      const {
        rows: [row],
      } = await tx.query(`SELECT body FROM documents WHERE id = ?${forUpdate(tx.dialect)}`, [id])
      await tx.query('UPDATE documents SET body = ? WHERE id = ?', [body, id])
      await this.counts.update(differences(String(row?.['body']), body), tx)
    })
  }

  /** A receiver that takes an entry only if its version is above the last one of its word. */
  async #receive(entries: readonly ExportEntry<string, number>[]): Promise<void> {
    await this.#external.transaction(async (tx) => {
      for (const { key, value, version } of entries) await take(tx, key, value, version)
    })
  }

  async close(): Promise<void> {
    await this.#connections.close(() => this.#connections.finish())
  }
}

async function take(tx: Transaction, word: string, n: number, version: number): Promise<void> {
  await EXTERNAL_COUNTS.upsert(tx, [[word, 0, 0]])
  await tx.query('UPDATE external_counts SET n = ?, version = ? WHERE word = ? AND version < ?', [
    n,
    version,
    word,
    version,
  ])
}

export function countWords(bodies: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const body of bodies) {
    for (const word of body.split(' ')) {
      if (word !== '') counts.set(word, (counts.get(word) ?? 0) + 1)
    }
  }
  return counts
}

/** Yields a +1 for each word that is new, and a -1 for each that is gone. */
function* differences(before: string, after: string): Generator<[string, number]> {
  const [old, now] = [countWords([before]), countWords([after])]
  for (const word of new Set([...old.keys(), ...now.keys()])) {
    const difference = (now.get(word) ?? 0) - (old.get(word) ?? 0)
    if (difference !== 0) yield [word, difference]
  }
}

const WORDS = 60

/** Returns up to 12 words, of which the first few are in nearly every document. */
export function someText(random: () => number): string {
  return Array.from(
    { length: Math.floor(random() * 12) },
    () => `w${Math.floor(random() ** 3 * WORDS)}`,
  ).join(' ')
}
