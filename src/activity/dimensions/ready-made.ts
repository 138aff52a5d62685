import type { IncomingMessage } from 'node:http'
import type { Received } from '../../page-views/handler.js'

const readyMades = new WeakSet<object>()

/**
 * Marks a dimension of the package's own. It looks only at what routers leave as it is: headers and
 * the target that the client has asked for. So the middleware need not remember where it is
 * mounted, which costs a request more than most dimensions.
 */
export function readyMade<Value>(ask: (req: Received) => Value): (req: IncomingMessage) => Value {
  readyMades.add(ask)
  return ask
}

/** Whether it is all the same to the dimension where the middleware is mounted. */
export function isReadyMade(dimension: object): boolean {
  return readyMades.has(dimension)
}
