/**
 * `ExportQueue` beside a table of outgoing entries that one process reads in the order of ids:
 * entries of hot keys, each added in a transaction of its own, until the last one has been
 * exported.
 */
import { mysql } from '../../src/index.js'
import { ExportQueue } from '../../src/export-queue/index.js'
import type { Bench } from '../harness/part.js'
import { start } from '../peers/outbox-table.js'
import { type Contender, queueing, type Race } from './race.js'
import { more } from '../harness/samples.js'

const CONNECTIONS = 34
const KEYS = 100

export async function exports(bench: Bench, mysqlUrl: string): Promise<Race> {
  const exported = new Set<number>()
  const baseline = await start({
    mysqlUrl,
    connections: CONNECTIONS,
    exporter: (entries: { value: string }[]) =>
      entries.forEach(({ value }) => exported.add(Number(value))),
  })
  const database = mysql(`${mysqlUrl}?connectionLimit=${CONNECTIONS}`)
  const queue = new ExportQueue<string, number>({
    name: 'bench',
    database,
    every: false,
    exporter: (entries) => entries.forEach(({ value }) => exported.add(value)),
  })
  await queue.migrate()
  bench.after(() => Promise.all([baseline.close(), database.close()]))
  return {
    name: 'ExportQueue',
    metric: more('entries/s'),
    contenders: [
      contender('outbox table, one reader', baseline.add, baseline.process, exported),
      contender(
        'ExportQueue',
        (key, value) => database.transaction((tx) => queue.add(key, value, tx)),
        () => queue.process(),
        exported,
      ),
    ],
  }
}

function contender(
  name: string,
  add: (key: string, value: number) => Promise<unknown>,
  process: () => Promise<number>,
  exported: Set<number>,
): Contender {
  return {
    name,
    async run(callers, ms) {
      exported.clear()
      let entries = 0
      const addOne = () => add(`key ${Math.floor(Math.random() * KEYS)}`, entries++)
      const done = await queueing(callers, ms, addOne, process, () => entries)
      if (exported.size !== entries) {
        throw new Error(`${name}: of ${entries} entries ${exported.size} have been exported`)
      }
      return done
    },
  }
}
