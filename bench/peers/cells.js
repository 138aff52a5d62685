// The grid of the contenders that write a cell for each visit, and the worker that brings it to SQL
// in bulk.
import { setTimeout as delay } from 'node:timers/promises'
import memjs from 'memjs'
import { openVisits } from './visits.js'

const LAYER_MS = 3000
const WIDTH = 15
// A layer is drained when it is so many layers old.
const DRAIN_AFTER_LAYERS = 2
const EXPIRES_SECONDS = 300
const WORK_MS = 1000
/** memjs can leave an operation unsettled when its connection breaks. */
const ANSWER_MS = 5000

/**
 * `retries: 1` means one try: memjs would send an append again of which it does not know what
 * became.
 */
export function connect(memcached) {
  return memjs.Client.create(memcached, { retries: 1, logger: { log() {} } })
}

/** A writer and its worker may know different moments at which layers begin. */
function layerAt(since, layerMs) {
  return Math.floor((Date.now() - (since % layerMs)) / layerMs)
}

/** `since`: a moment at which a layer begins. */
export function startCells({ name, width = WIDTH, layerMs = LAYER_MS, since = 0 }) {
  const layer = () => layerAt(since, layerMs)
  return {
    expires: EXPIRES_SECONDS,
    key: () => `${name}:${layer()}:${Math.floor(Math.random() * width)}`,
  }
}

/**
 * Drains, layer by layer, all that lies far enough back: bulk INSERT, then the cells are deleted.
 *
 * @param {{ memcached: string, mysqlUrl: string, name: string, width?: number, layerMs?: number,
 * since?: number, parse(text: string): object[] }} env
 */
export async function startCellWorker({
  memcached,
  mysqlUrl,
  name,
  width = WIDTH,
  layerMs = LAYER_MS,
  since = 0,
  parse,
}) {
  let client = connect(memcached)
  const visits = await openVisits(mysqlUrl, 1)
  const now = () => layerAt(since, layerMs)
  // After a restart, back to the oldest cells there may be.
  let next = now() - Math.ceil((EXPIRES_SECONDS * 1000) / layerMs)
  let closing = false

  async function drainBefore(end) {
    while (next < end) {
      const keys = Array.from({ length: width }, (_, column) => `${name}:${next}:${column}`)
      const found = await inTime(keys.map((key) => client.get(key)))
      const rows = found.flatMap(({ value }) => (value ? parse(value.toString()) : []))
      if (rows.length > 0) await visits.insert(rows)
      // What cannot be deleted expires. It is not read again.
      next++
      await inTime(keys.map((key, column) => found[column].value && client.delete(key)))
    }
  }
  const work = (async () => {
    while (!closing) {
      // A server is away: the layer is tried again, on a new connection.
      await drainBefore(now() - DRAIN_AFTER_LAYERS + 1).catch(() => {
        client.close()
        client = connect(memcached)
      })
      if (!closing) await delay(WORK_MS)
    }
  })()
  return {
    /** The young layers too, for when nobody writes any more. */
    async drain() {
      await stop()
      await drainBefore(now() + 1)
    },
    async close() {
      await stop()
      await visits.close()
      client.close()
    },
  }

  async function stop() {
    closing = true
    await work
  }
}

/** @throws Error if one of them fails, or has no answer within the time */
async function inTime(operations) {
  const answered = new AbortController()
  const late = delay(ANSWER_MS, undefined, { signal: answered.signal }).then(() => {
    throw new Error(`no answer within ${ANSWER_MS} ms`)
  })
  try {
    return await Promise.race([Promise.all(operations), late])
  } finally {
    answered.abort()
  }
}
