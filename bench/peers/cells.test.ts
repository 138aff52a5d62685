import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createPool, type RowDataPacket } from 'mysql2/promise'
import { eventually } from '../../src/support/eventually.fixture.js'
import { startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import { sharedMemcached, sharedMysqlUrl } from '../../test/servers/shared.js'
import { connect, startCells, startCellWorker } from './cells.js'

const LAYER_MS = 100

test('a worker goes on after its cache has cut a connection in the midst of a reply', async () => {
  const [memcached, mysqlUrl] = await Promise.all([sharedMemcached(), sharedMysqlUrl()])
  const tcp = await startFaultyTcp(memcached)
  const [client, pool] = [connect(memcached), createPool({ uri: mysqlUrl, connectionLimit: 1 })]
  after(() => Promise.all([tcp.close(), pool.end(), client.close()]))
  const name = `cells-${process.pid}`
  const cells = startCells({ name, width: 1, layerMs: LAYER_MS })
  const worker = await startCellWorker({
    memcached: tcp.address,
    mysqlUrl,
    name,
    width: 1,
    layerMs: LAYER_MS,
    parse: (text) => [{ time: 0, visitor: text, page: '/' }],
  })
  const place = (text: string): Promise<boolean> =>
    client.set(cells.key(), text, { expires: cells.expires })
  const brought = (expected: readonly string[]): Promise<true> =>
    eventually(`SQL has ${expected.join(', ')}`, async () => {
      const [rows] = await pool.query<RowDataPacket[]>('SELECT visitor FROM visits ORDER BY id')
      assert(rows.length <= expected.length)
      return rows.map(({ visitor }) => visitor).join() === expected.join()
    })

  await place('before')
  await brought(['before'])
  tcp.forget()
  tcp.cutReply(10, 'rst')
  await place('meanwhile')
  await eventually('a reply is cut', () => tcp.received.length > 0)
  tcp.pass()
  await brought(['before', 'meanwhile'])
  await worker.close()
})
