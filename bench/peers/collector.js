// One collector of wide-cache, as `wide-cache collect` has it: from memcached to SQL, each frame
// once, with sums.
import { createActivity } from 'wide-cache'

/**
 * A cache that stutters on a busy machine is asked again, as the next scheduled run would; the time
 * counts.
 */
const MAX_RUNS = 10

/** `database`: another way to the one at `mysqlUrl`. */
export async function open({ memcached, mysqlUrl, keep, database = mysqlUrl }) {
  const activity = createActivity({
    cache: `memcached://${memcached}`,
    database,
    collect: false,
    keep,
  })
  await activity.migrate()
  return {
    reads: 'grid',
    async bring(count) {
      let committed = 0
      for (let run = 0; run < MAX_RUNS && committed < count; run++) {
        committed += (await activity.drain()).committed
      }
      if (committed !== count) {
        throw new Error(`the collector brought ${committed} rows of ${count}`)
      }
    },
    close: () => activity.close(),
  }
}
