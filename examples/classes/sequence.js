// Order numbers that are unique and grow, from two shop servers at once: `npm run build`, then
// `node examples/classes/sequence.js`. It needs no service: without a cache the numbers come from
// SQL alone, here an SQLite file. With WIDE_CACHE_SERVERS and WIDE_CACHE_DATABASE_URL set (or
// MEMCACHE_SERVERS and DATABASE_URL), the very same lines count in memcached.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Sequence } from 'wide-cache/sequence'

const folder = await mkdtemp(join(tmpdir(), 'wide-cache-sequence-'))
// The package reads the variables itself. Where none is set, a file that goes with this example.
process.env.DATABASE_URL ||= `sqlite:${join(folder, 'shop.db')}`

// Two servers, each with connections of its own.
const servers = [new Sequence({ name: 'orders' }), new Sequence({ name: 'orders' })]

try {
  const first = await servers[0].next()
  const second = await servers[1].next()
  console.log(`one server gives ${first}, the other, asked after that, ${second}`)

  const orders = await Promise.all(Array.from({ length: 1000 }, (_, i) => servers[i % 2].next()))
  console.log(
    `1,000 orders at once got ${new Set(orders).size} different numbers, from ` +
      `${Math.min(...orders)} to ${Math.max(...orders)}`,
  )

  await servers[0].close()
  console.log(`one server is gone, the other goes on with ${await servers[1].next()}`)
} finally {
  await Promise.all(servers.map((server) => server.close()))
  await rm(folder, { recursive: true, force: true })
}
