import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'
import { eventually } from '../../support/eventually.fixture.js'
import { lockHolders } from './lock-holders.js'
import { poolOptions } from './pool-options.js'

test('sessions that wait at one time share a look, which leaves no connection', async () => {
  const options = poolOptions(await sharedMysqlUrl())[0]!
  const sockets = new Set<Socket>()
  let connections = 0
  // It lets users in, and hears no question.
  const proxy = createServer((socket) => {
    connections++
    sockets.add(socket)
    const server = connect(options.port!, options.host)
    socket.on('data', (data) => data.includes('SELECT') || server.write(data))
    socket.on('close', () => (sockets.delete(socket), server.destroy()))
    for (const one of [socket, server]) one.on('error', () => undefined)
    server.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const holderOf = lockHolders({ ...options, host: '127.0.0.1', port })
  const found = await Promise.all([1, 2, 3].map((id) => holderOf(id)))
  assert.deepEqual([found, connections], [[undefined, undefined, undefined], 1])
  await eventually('its connection is closed', () => sockets.size === 0)
  proxy.close()
})
