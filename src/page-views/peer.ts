/**
 * The address at the other end of a request's connection, which is asked for when the client may
 * have gone.
 */
import type { Received } from './handler.js'

/** Of requests of HTTP/2, which lose their connection when they have been answered. */
const peers = new WeakMap<Received, string | undefined>()

/**
 * Remembers the address of a request, while its connection is there. A socket of HTTP/1 knows it
 * later, too, if it has been asked before.
 */
export function rememberPeer(req: Received, address = req.socket.remoteAddress): void {
  if (req.httpVersionMajor > 1) peers.set(req, address)
}

/** Returns the address of a request; `undefined`: it has none, or nobody remembers it. */
export function peerOf(req: Received): string | undefined {
  return peers.get(req) ?? req.socket.remoteAddress
}
