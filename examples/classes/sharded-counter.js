// A counter that many processes raise at once: N rows, one of them changed at random, their sum
// read. Runs with no service: node examples/classes/sharded-counter.js (after npm run build).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ShardedCounter } from 'wide-cache/counters'

const folder = mkdtempSync(join(tmpdir(), 'wide-cache-example-'))
const database = `sqlite:${join(folder, 'example.db')}`

// Two of them, as two web processes would have on one database.
const [one, other] = [1, 2].map(
  () =>
    new ShardedCounter({
      name: 'downloads',
      database,
      cache: 'memory:',
      shards: 5,
      cacheSeconds: 60,
    }),
)

console.time('2,000 increments by 200 callers')
await Promise.all(
  Array.from({ length: 200 }, async (_, caller) => {
    const counter = caller % 2 ? one : other
    for (let n = 0; n < 10; n++) await counter.increment() // resolves when it is committed
  }),
)
console.timeEnd('2,000 increments by 200 callers')
console.log('total', await one.get({ exact: true }))

await other.increaseShards(10) // at run time; the other process follows by itself
await one.increment(-500)
console.log('after -500', await one.get({ exact: true }))

console.log('from the cache from now on', await one.get())
await other.increment(1_000_000)
console.log('still, for a minute at most', await one.get())
console.log('exact', await one.get({ exact: true }))

await one
  .increment(Number.MAX_SAFE_INTEGER)
  .catch((error) => console.log(`${error.name}: ${error.message}`))

await Promise.all([one.close(), other.close()])
rmSync(folder, { recursive: true })
