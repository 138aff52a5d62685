import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Passes bytes on to a server, and knows how many connections are open. */
export async function countingProxy(
  address: string,
): Promise<{ address: string; open(): number; close(): Promise<void> }> {
  const [host, port] = address.split(':')
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const other = connect(Number(port), host)
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
    for (const one of [socket, other]) one.on('error', () => socket.destroy())
    socket.pipe(other).pipe(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
