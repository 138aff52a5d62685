// Get and set: read the cell's array, push, write it back. Layers of 3 s, 15
// columns. Two visits that meet in a cell overwrite each other.
import { connect, startCells, startCellWorker } from './cells.js'
import { contender } from './express.js'

const NAME = 'get-and-set'

export function start({ memcached, name = NAME, width, layerMs, since }) {
  const client = connect(memcached)
  const cells = startCells({ name, width, layerMs, since })
  // How long a cell is open to be overwritten: from the `get` to the `set`.
  const windows = { milliseconds: 0, count: 0 }
  const record = async (visit) => {
    const key = cells.key()
    const began = performance.now()
    const { value } = await client.get(key)
    const array = value ? JSON.parse(value.toString()) : []
    array.push(visit)
    const text = JSON.stringify(array)
    windows.milliseconds += performance.now() - began
    windows.count++
    if (!(await client.set(key, text, { expires: cells.expires }))) throw new Error('not stored')
  }
  const counts = { count: ({ recorded }) => recorded, close: () => client.close() }
  return { ...contender(record, counts), windows }
}

const parse = (text) => JSON.parse(text)

export const startWorker = (env) => startCellWorker({ name: NAME, parse, ...env })
