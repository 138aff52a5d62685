// Documents change, the counts of their words follow, and a table elsewhere is kept up: no
// transaction waits for another one's words, and nothing is counted twice or forgotten. Runs
// without any service, on SQLite in a folder of its own, after npm run build:
// node examples/classes/word-count.js
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlite } from 'wide-cache'
import { CollisionFreeMap } from 'wide-cache/collision-free-map'
import { ExportQueue } from 'wide-cache/export-queue'

const folder = await mkdtemp(join(tmpdir(), 'word-count-'))
const database = sqlite(join(folder, 'words.db'))

// The world outside. It takes an entry only if its version is above the last one of the word, so
// repeats do no harm.
const elsewhere = new Map()
const exports = new ExportQueue({
  database,
  name: 'words',
  every: false, // By default it runs by itself; here we say when.
  async exporter(entries) {
    for (const { key, value, version } of entries) {
      if (version > (elsewhere.get(key)?.version ?? 0)) {
        elsewhere.set(key, { count: value, version })
      }
    }
  },
})

const counts = new CollisionFreeMap({
  database,
  name: 'words',
  every: false,
  // The new count of a word from its current one and what is queued; undefined deletes it.
  combine: (word, current = 0, updates) => updates.reduce((a, b) => a + b, current) || undefined,
  // In the transaction that changes the counts: what is exported is what was counted.
  async onUpdate(changes, tx) {
    for (const { key, newValue = 0 } of changes) await exports.add(key, newValue, tx)
  },
})

await counts.migrate()
await database.query('CREATE TABLE documents (id INTEGER PRIMARY KEY, body TEXT NOT NULL)')

async function write(id, body) {
  await database.transaction(async (tx) => {
    const { rows } = await tx.query('SELECT body FROM documents WHERE id = ?', [id])
    await tx.query('REPLACE INTO documents (id, body) VALUES (?, ?)', [id, body])
    const gone = (rows[0]?.body ?? '')
      .split(' ')
      .filter(Boolean)
      .map((word) => [word, -1])
    await counts.update([...gone, ...body.split(' ').map((word) => [word, 1])], tx)
  })
}

await Promise.all([
  write(1, 'the quick brown fox jumps over the lazy dog'),
  write(2, 'the dog sleeps'),
  write(3, 'the fox does not'),
])
console.log(
  `before processing, "the" is ${await counts.get('the')}, of which elsewhere knows ` +
    `${elsewhere.get('the')?.count}`,
)

console.log(
  `processed ${await counts.process()} updates, exported ${await exports.process()} counts`,
)
console.log(
  `elsewhere "the" is ${elsewhere.get('the')?.count}, "fox" ${elsewhere.get('fox')?.count}, ` +
    `"dog" ${elsewhere.get('dog')?.count}`,
)

await write(1, 'the dog alone')
await counts.process()
await exports.process()
console.log(
  `after a change "fox" is ${await counts.get('fox')}, elsewhere ` +
    `${elsewhere.get('fox')?.count}; "quick" is ${await counts.get('quick')}`,
)

await database.close()
await rm(folder, { recursive: true })
