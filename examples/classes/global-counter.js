// A counter that gives each caller its own number. It lives in the cache, and what the cache
// forgets comes back from SQL. Runs with no service: node examples/classes/global-counter.js
// (after npm run build).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memory, sqlite } from 'wide-cache'
import { GlobalCounter } from 'wide-cache/counters'

const folder = mkdtempSync(join(tmpdir(), 'wide-cache-example-'))
const database = sqlite(join(folder, 'example.db'))

const tickets = new GlobalCounter({ name: 'tickets', database, cache: memory() })
const numbers = await Promise.all(Array.from({ length: 8 }, () => tickets.increment()))
console.log('eight callers at once got', numbers.join(' '))

// A new cache knows nothing, as memcached does after a restart.
const afterRestart = new GlobalCounter({ name: 'tickets', database, cache: memory() })
console.log('the cache has forgotten all; the next number is', await afterRestart.increment())
console.log('and the one who still has the old cache gets', await tickets.increment())

// One value in ten is persisted: ten times fewer writes, and a loss takes back nine at most.
const cache = memory()
const likes = new GlobalCounter({ name: 'likes', database, cache, chanceToWrite: 0.1 })
for (let n = 0; n < 1_005; n++) await likes.increment()
console.log('likes', await likes.get())
const likesAfterRestart = new GlobalCounter({
  name: 'likes',
  database,
  cache: memory(),
  chanceToWrite: 0.1,
})
console.log('likes after the cache has forgotten all', await likesAfterRestart.get())

await Promise.all(
  [tickets, afterRestart, likes, likesAfterRestart].map((counter) => counter.close()),
)
await database.close()
rmSync(folder, { recursive: true })
