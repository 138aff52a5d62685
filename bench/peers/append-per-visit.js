// One append per visit to a random cell of the same grid, and `add` where there is no cell yet.
import { connect, startCells, startCellWorker } from './cells.js'
import { contender } from './express.js'

const NAME = 'append'

export function start({ memcached, name = NAME, width, layerMs, since }) {
  const client = connect(memcached)
  const cells = startCells({ name, width, layerMs, since })
  const record = async (visit) => {
    const key = cells.key()
    const line = `${JSON.stringify(visit)}\n`
    // memjs rejects where there is no cell.
    const append = () => client.append(key, line).catch(() => false)
    if (
      !(
        (await append()) ||
        (await client.add(key, line, { expires: cells.expires }).catch(() => false)) ||
        (await append())
      )
    ) {
      throw new Error('not stored')
    }
  }
  return contender(record, { count: ({ recorded }) => recorded, close: () => client.close() })
}

const parse = (text) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

export const startWorker = (env) => startCellWorker({ name: NAME, parse, ...env })
