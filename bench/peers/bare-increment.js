// The next number from memcached's own `increment`, kept nowhere else: a flush, a restart or an
// eviction loses it.
import memjs from 'memjs'

const KEY = 'bench:bare-increment'

export async function start({ memcached }) {
  const client = memjs.Client.create(memcached, { retries: 1, timeout: 10, logger: { log() {} } })
  return {
    async next() {
      const { success, value } = await client.increment(KEY, 1, { initial: 1 })
      if (!success) throw new Error('memcached did not count')
      return value
    },
    async close() {
      client.close()
    },
  }
}
