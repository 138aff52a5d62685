import type { Database } from '../database/database.js'
import { recountHour } from './hour-recount.js'

/** Recounts a whole hour. */
export async function recounted(
  database: Database,
  name: string,
  hour: number,
): Promise<string | undefined> {
  const recount = recountHour(database, name, hour)
  for (;;) {
    const { done, value } = await recount.next()
    if (done) return value
  }
}
